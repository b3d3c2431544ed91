// Reads vocabulary files in the original formats of GPT-2 and BERT.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"

namespace WEFT_API weft {

/// Reads the merges in a merges.txt, in order. Throws FormatError if the file is invalid.
std::vector<std::pair<std::string, std::string>> read_merges(std::string_view text);

struct Gpt2Settings {
  bool add_prefix_space = false;
};

/// Builds GPT-2's byte-level BPE tokenizer from vocab.json and merges.txt. Throws FormatError if a
/// file is invalid.
SubwordParts read_gpt2_files(std::string_view vocab_json, std::string_view merges_txt,
                             const Gpt2Settings& settings = {});

struct BertSettings {
  bool lowercase = true;
  std::optional<bool> strip_accents = {};  // if not set, same as `lowercase`
  bool tokenize_chinese_chars = true;
};

/// Builds BERT's WordPiece tokenizer from vocab.txt, which has one piece per line. Throws
/// FormatError if the file is invalid.
SubwordParts read_bert_files(std::string_view vocab_txt, const BertSettings& settings = {});

}  // namespace weft
