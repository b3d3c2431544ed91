// Tokenizers of folders that Hugging Face's library wrote.
#pragma once

#include <optional>
#include <string>

#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The tokenizer of a folder, or why there is none that Weft reads.
struct FolderTokenizer {
  std::optional<Tokenizer> tokenizer;
  std::string missing = {};
};

/// Reads tokenizer.json; where there is none, vocab.json and merges.txt of GPT-2's, RoBERTa's,
/// CLIP's or another class that is known, BERT's vocab.txt or a SentencePiece model under any of
/// the names that the library gives it, with what tokenizer_config.json, special_tokens_map.json
/// and added_tokens.json say of them. Throws IoError.
FolderTokenizer read_tokenizer_folder(const std::string& folder);

}  // namespace weft
