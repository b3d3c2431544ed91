// Reads a tokenizer from any supported file or folder.
#pragma once

#include <string>

#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Reads the tokenizer of a tokenizer.json, a SentencePiece model, a .weft file, or a folder as
/// read_tokenizer_folder() does. Throws IoError, or FormatError that names the path.
Tokenizer read_tokenizer(const std::string& path);

}  // namespace weft
