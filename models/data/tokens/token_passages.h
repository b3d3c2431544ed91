// Token files as passages of equal length: what encoder-decoders are pre-trained on.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/passage_source.h"
#include "weft/models/data/tokens/token_set_parts.h"

namespace WEFT_API weft {

/// Passages of one sentence each, as T5 was trained on (Raffel et al. 2020): documents one after
/// the other, cut wherever a passage is full; the ids behind documents are left out.
class TokenPassages final : public PassageSource {
 public:
  /// `tokens`: ids of a passage, at least 2; the last ones of a source may have fewer. Throws
  /// DataError where a source has fewer than 2, the ids behind documents left out.
  TokenPassages(std::vector<TokenSetPart> sources, std::int64_t tokens);

  std::int64_t documents() const override { return sources_.documents(); }
  std::int64_t tokens() const override { return sources_.tokens(); }
  std::int64_t count() const override { return ends_.back(); }
  std::vector<TokenIds> at(std::int64_t i) const override;
  std::vector<std::int64_t> cover() const override;
  std::vector<TokenIds> random(Draws& draws) const override;

 private:
  /// The ids from `place` on, without those behind documents.
  TokenIds read(const TokenSetPart& source, std::int64_t place) const;
  std::vector<TokenIds> passage(const TokenSetPart& source, std::int64_t place) const;

  TokenSetParts sources_;
  std::vector<std::int64_t> ends_;  // passages up to the end of each source
  std::int64_t tokens_;
};

}  // namespace weft
