// Reads the tokenizer of a Hugging Face model folder.
#pragma once

#include <optional>
#include <string>

#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The result of read_tokenizer_folder().
struct FolderTokenizer {
  std::optional<Tokenizer> tokenizer;
  /// The reason if the folder has no tokenizer, or none that Weft can read.
  std::string missing = {};
};

/// Reads the tokenizer of `folder` from tokenizer.json. Without that file, reads vocab.json and
/// merges.txt (GPT-2, RoBERTa, CLIP and other known classes), BERT's vocab.txt, or a SentencePiece
/// model under any of the names that Hugging Face's transformers library uses.
/// tokenizer_config.json, special_tokens_map.json and added_tokens.json are applied to these.
/// Throws IoError.
FolderTokenizer read_tokenizer_folder(const std::string& folder);

}  // namespace weft
