// Where encoder-decoders that are pre-trained get passages of text from.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/denoising.h"
#include "weft/models/data/draws.h"

namespace WEFT_API weft {

/// Passages as sentences of ids, 2 ids or more together. For any number of threads.
class PassageSource {
 public:
  virtual ~PassageSource() = default;
  virtual std::int64_t documents() const = 0;
  virtual std::int64_t tokens() const = 0;
  virtual std::int64_t count() const = 0;
  /// Passage i of count(), in the order of the text. Throws ArgumentError for others.
  virtual std::vector<TokenIds> at(std::int64_t i) const = 0;
  /// Passages that follow on each other and together hold everything, some of it perhaps twice.
  virtual std::vector<std::int64_t> cover() const = 0;
  /// Any passage.
  virtual std::vector<TokenIds> random(Draws& draws) const = 0;
};

}  // namespace weft
