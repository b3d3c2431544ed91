// The command `weft tokenizer inspect`.
#pragma once

#include <string>

#include "weft/models/text/tokenizers/tokenizer.h"

namespace weft::program {

/// Prints a description of a tokenizer: type, vocabulary, special ids, components, longest pieces,
/// and the digest that token files use to identify it.
void inspect_tokenizer(const std::string& path, const Tokenizer& tokenizer);

}  // namespace weft::program
