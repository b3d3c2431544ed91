// Texts as rows of equal length for pre-training.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Texts as rows "[CLS] text [SEP] next text [SEP] ...", all as long as the model's context, so
/// that nothing is padding (RoBERTa's packing, Liu et al. 2019).
class PackedTexts {
 public:
  /// Throws DataError without any token, ArgumentError for a context of less than 3.
  PackedTexts(const Tokenizer& tokenizer, std::span<const std::string> texts, std::int64_t context);

  std::int64_t tokens() const { return tokens_; }
  std::int64_t texts() const { return static_cast<std::int64_t>(texts_.size()); }
  /// The row that begins with text `first` and goes on with those behind it, around the end.
  std::vector<std::int32_t> row(std::int64_t first) const;
  /// First texts of rows that together hold every text once or more (but what was cut off).
  std::vector<std::int64_t> cover() const;

 private:
  std::vector<std::vector<std::int32_t>> texts_;
  std::int32_t cls_, sep_;
  std::int64_t context_, tokens_ = 0;
};

}  // namespace weft
