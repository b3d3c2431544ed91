// Writes a tokenizer in the form of the files in a Hugging Face model folder.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// File contents, keyed by file name.
using FolderTexts = std::map<std::string, std::string>;

struct TokenizerFiles {
  FolderTexts files;
  /// A message for the user about limitations; usually empty.
  std::string note = {};
};

/// Specifies which settings files from a tokenizer's original folder are kept.
enum class KeptSettings {
  as_they_are,
  with_names,  // kept, but the names of all special tokens are updated
  none,
};

/// Returns the tokenizer's files: tokenizer.json or, for a SentencePiece model, the file that the
/// tokenizer class of Hugging Face's transformers library reads (for Marian: source.spm, target.spm
/// and vocab.json). `origin` contains the files of the tokenizer's original folder. Depending on
/// `kept`, tokenizer_config.json, special_tokens_map.json and added_tokens.json are copied from
/// `origin`. If none of them is copied, the first two are generated from the special ids. `longest`
/// is the maximum number of ids in a text (model_max_length). The caller must check that reading
/// the folder yields the same tokenizer.
TokenizerFiles tokenizer_files(const Tokenizer& tokenizer, const FolderTexts& origin,
                               KeptSettings kept, std::string_view model_type,
                               std::int64_t longest);

}  // namespace weft
