// Documents of token files as rows of equal length for pre-training.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/tokens/token_set_parts.h"

namespace WEFT_API weft {

/// Rows "[CLS] document [SEP] next document [SEP] ...", all as long as the model's context, so that
/// nothing is padding, as PackedTexts makes them of texts; the ids behind documents are left out. A
/// long document fills several rows. For any number of threads.
class PackedTokens {
 public:
  /// The tokenizer is that of all sources. Throws ArgumentError without any id, for a context of
  /// less than 3, and for a tokenizer without [CLS] or [SEP].
  PackedTokens(std::vector<TokenSetPart> sources, std::int64_t context);

  std::int64_t tokens() const { return sources_.tokens(); }
  std::int64_t documents() const { return sources_.documents(); }
  /// The row of a random id: a function of these numbers. It begins with the id's document, or with
  /// the part of it, as long as a row, that has the id.
  std::vector<std::int32_t> random(std::uint64_t seed, std::int64_t step, std::int64_t row) const;
  /// Rows that follow on each other, and together hold nearly everything once.
  std::int64_t rows() const { return ends_.back(); }
  std::vector<std::int32_t> row(std::int64_t i) const;

 private:
  std::vector<std::int32_t> row_from(const TokenSetPart& source, std::int64_t place) const;

  TokenSetParts sources_;
  std::vector<std::int64_t> ends_;  // rows up to the end of each source
  std::int64_t context_;
  std::int32_t cls_, sep_;
};

}  // namespace weft
