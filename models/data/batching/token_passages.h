// Splits token files into passages of equal length for pre-training encoder-decoder models.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/batching/passage_source.h"
#include "weft/models/text/tokens/token_set_parts.h"

namespace WEFT_API weft {

/// Passages with one sentence each, as in the training data of T5 (Raffel et al. 2020). The
/// documents are concatenated without their end-of-text ids and split whenever a passage is full.
class TokenPassages final : public PassageSource {
 public:
  /// `tokens` is the number of ids per passage, at least 2. The last passages of a source may have
  /// fewer ids. Throws ArgumentError if `tokens` is below 2. Throws DataError if a source has fewer
  /// than 2 ids, not counting end-of-text ids.
  TokenPassages(std::vector<TokenSetPart> sources, std::int64_t tokens);

  std::int64_t documents() const override { return sources_.documents(); }
  std::int64_t tokens() const override { return sources_.tokens(); }
  std::int64_t count() const override { return ends_.back(); }
  std::vector<TokenIds> at(std::int64_t i) const override;
  std::vector<std::int64_t> cover() const override;
  std::vector<TokenIds> random(Rng& rng) const override;

 private:
  /// Reads up to `tokens_` ids from position `place` on, without end-of-text ids.
  TokenIds read(const TokenSetPart& source, std::int64_t place) const;
  std::vector<TokenIds> passage(const TokenSetPart& source, std::int64_t place) const;

  TokenSetParts sources_;
  std::vector<std::int64_t> ends_;  // number of passages up to the end of each source
  std::int64_t tokens_;
};

}  // namespace weft
