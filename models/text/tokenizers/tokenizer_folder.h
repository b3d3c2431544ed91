// Reads the tokenizer of a Hugging Face model folder.
#pragma once

#include <optional>
#include <string>

#include "weft/models/fields/model_path.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The result of read_tokenizer_folder().
struct FolderTokenizer {
  std::optional<Tokenizer> tokenizer;
  /// The reason why there is no tokenizer: the folder has none, or Weft cannot read it.
  std::string missing = {};
};

/// Reads the tokenizer of a folder from tokenizer.json. If there is no such file, reads vocab.json
/// and merges.txt (for GPT-2, RoBERTa, CLIP and other known classes), BERT's vocab.txt, or a
/// SentencePiece model under any of the names that Hugging Face's transformers library uses, and
/// applies tokenizer_config.json, special_tokens_map.json and added_tokens.json. Throws IoError if
/// a file cannot be read.
FolderTokenizer read_tokenizer_folder(const ModelPath& from);

}  // namespace weft
