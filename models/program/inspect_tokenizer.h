// weft tokenizer inspect.
#pragma once

#include <string>

#include "weft/models/tokenizers/tokenizer.h"

namespace weft::program {

/// Prints what a tokenizer is made of: kind, vocabulary, special ids, its parts, its longest
/// pieces, the digest by which token files know it.
void inspect_tokenizer(const std::string& path, const Tokenizer& tokenizer);

}  // namespace weft::program
