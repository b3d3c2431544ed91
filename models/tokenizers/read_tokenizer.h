// Tokenizers in files of any kind.
#pragma once

#include <string>

#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The tokenizer of a tokenizer.json, of a SentencePiece model, of a .weft file, or of a folder as
/// read_tokenizer_folder reads it. Throws IoError, FormatError with the path.
Tokenizer read_tokenizer(const std::string& path);

}  // namespace weft
