// Packs texts into rows of equal length for pre-training.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Packs texts into rows "[CLS] text [SEP] next text [SEP] ..." that fill the model's context
/// without padding (RoBERTa's packing, Liu et al. 2019).
class PackedTexts {
 public:
  /// Throws DataError if the texts have no tokens. Throws ArgumentError if `context` is below 3.
  PackedTexts(const Tokenizer& tokenizer, std::span<const std::string> texts, std::int64_t context);

  std::int64_t tokens() const { return tokens_; }
  std::int64_t texts() const { return static_cast<std::int64_t>(texts_.size()); }
  /// Returns the row that begins with text `first` and continues with the following texts. After
  /// the last text, the row continues with the first text.
  std::vector<std::int32_t> row(std::int64_t first) const;
  /// Selects rows that together contain every text at least once, except for text truncated at the
  /// end of a row. Returns the index of the first text of each row.
  std::vector<std::int64_t> cover() const;

 private:
  std::vector<std::vector<std::int32_t>> texts_;
  std::int32_t cls_, sep_;
  std::int64_t context_, tokens_ = 0;
};

}  // namespace weft
