// Packs the documents of token files into rows of equal length for pre-training.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/text/tokens/token_set_parts.h"

namespace WEFT_API weft {

/// Rows "[CLS] document [SEP] next document [SEP] ..." that fill the model's context without
/// padding, like the rows that PackedTexts builds from texts. End-of-text ids are omitted. A long
/// document fills several rows. Immutable and thread-safe.
class PackedTokens {
 public:
  /// All sources must have the same tokenizer. Throws DataError if no source has ids. Throws
  /// ArgumentError if `context` is below 3 or the tokenizer has no [CLS] or [SEP].
  PackedTokens(std::vector<TokenSetPart> sources, std::int64_t context);

  std::int64_t tokens() const { return sources_.tokens(); }
  std::int64_t documents() const { return sources_.documents(); }
  /// Selects a random id and returns the row for it. The result is a function of the arguments. The
  /// row begins at the start of the document that contains the id. If this document is longer than
  /// a row, the row begins at the start of the row-sized part that contains the id.
  std::vector<std::int32_t> random(std::uint64_t seed, std::int64_t step, std::int64_t row) const;
  /// The number of consecutive rows that together contain nearly every id once.
  std::int64_t rows() const { return ends_.back(); }
  std::vector<std::int32_t> row(std::int64_t i) const;

 private:
  std::vector<std::int32_t> row_from(const TokenSetPart& source, std::int64_t place) const;

  TokenSetParts sources_;
  /// Number of rows up to the end of each source.
  std::vector<std::int64_t> ends_;
  std::int64_t context_;
  std::int32_t cls_, sep_;
};

}  // namespace weft
