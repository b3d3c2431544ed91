// Reads a tokenizer from a file or folder in any supported format.
#pragma once

#include <string>

#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Reads a tokenizer from a tokenizer.json, a SentencePiece model, a .weft file or a folder (see
/// read_tokenizer_folder()). Throws IoError, or a FormatError that names the path.
Tokenizer read_tokenizer(const std::string& path);

}  // namespace weft
