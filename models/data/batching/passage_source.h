// Interface for sources of passages for pre-training encoder-decoder models.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/corruption/denoising.h"
#include "weft/models/data/rng.h"

namespace WEFT_API weft {

/// A set of passages. Each passage consists of sentences (as ids) and has at least 2 ids in total.
/// Thread-safe.
class PassageSource {
 public:
  virtual ~PassageSource() = default;
  virtual std::int64_t documents() const = 0;
  virtual std::int64_t tokens() const = 0;
  virtual std::int64_t count() const = 0;
  /// Returns passage i. Passages are in text order. Throws ArgumentError unless 0 <= i < count().
  virtual std::vector<TokenIds> at(std::int64_t i) const = 0;
  /// Returns the indices of consecutive passages that together contain the whole text, possibly
  /// with overlaps.
  virtual std::vector<std::int64_t> cover() const = 0;
  /// Returns a random passage.
  virtual std::vector<TokenIds> random(Rng& rng) const = 0;
};

}  // namespace weft
