// The command weft tokenizer inspect.
#pragma once

#include <string>

#include "weft/models/tokenizers/tokenizer.h"

namespace weft::program {

/// Prints the parts of a tokenizer: kind, vocabulary, special ids, components, longest pieces, and
/// the digest by which token files identify it.
void inspect_tokenizer(const std::string& path, const Tokenizer& tokenizer);

}  // namespace weft::program
