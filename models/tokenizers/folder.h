// Tokenizers of folders that Hugging Face's library wrote.
#pragma once

#include <optional>
#include <string>

#include "weft/models/tokenizers/tokenizer.h"

namespace weft {

/// The tokenizer of a folder, or why there is none that Weft reads: which file holds one, and of
/// what kind.
struct FolderTokenizer {
  std::optional<Tokenizer> tokenizer;
  std::string missing = {};
};

/// Reads a byte-pair model of SentencePiece under any of the names that the library gives it.
/// Throws IoError.
FolderTokenizer read_tokenizer_folder(const std::string& folder);

}  // namespace weft
