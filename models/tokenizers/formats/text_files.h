// Vocabularies as the first programs of GPT-2 and BERT kept them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/tokenizers/subword_pipeline.h"

namespace WEFT_API weft {

/// The merges of a merges.txt, in their order. Throws FormatError.
std::vector<std::pair<std::string, std::string>> read_merges(std::string_view text);

struct Gpt2Settings {
  bool add_prefix_space = false;
};

/// GPT-2's byte-level BPE of vocab.json and merges.txt. Throws FormatError.
SubwordParts read_gpt2_files(std::string_view vocab_json, std::string_view merges_txt,
                             const Gpt2Settings& settings = {});

struct BertSettings {
  bool lowercase = true;
  std::optional<bool> strip_accents = {};  // none: if it makes lower case
  bool tokenize_chinese_chars = true;
};

/// BERT's WordPiece of vocab.txt, one piece a line. Throws FormatError.
SubwordParts read_bert_files(std::string_view vocab_txt, const BertSettings& settings = {});

}  // namespace weft
