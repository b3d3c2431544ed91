// A tokenizer as the files of a folder that Hugging Face's library reads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Texts of files by their names.
using FolderTexts = std::map<std::string, std::string>;

struct TokenizerFiles {
  FolderTexts files;
  /// What people should know of them; mostly nothing.
  std::string note = {};
};

/// What of the folder that a tokenizer came from is kept.
enum class KeptSettings {
  as_they_are,
  with_names,  // of all special ids, too
  none,
};

/// tokenizer.json, or what the library's class reads instead: a SentencePiece model under its name
/// (Marian's: source.spm, target.spm, vocab.json); and what tokenizer_config.json,
/// special_tokens_map.json and added_tokens.json say: as in `origin`, files of the folder that the
/// tokenizer came from, where it has them, else what the special ids are. `longest`: most ids of a
/// text. Whether the folder then gives the same tokenizer is for who writes it to see.
TokenizerFiles tokenizer_files(const Tokenizer& tokenizer, const FolderTexts& origin,
                               KeptSettings kept, std::string_view model_type,
                               std::int64_t longest);

}  // namespace weft
