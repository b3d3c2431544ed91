// Integers drawn inside a graph.
#pragma once

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/random.h"

namespace weft::zoo {

/// i64, uniform in [low, low + count), count up to 2^20: by multiplying a uniform number.
inline Value random_integers(Arg key, const Shape& shape, std::int64_t low, std::int64_t count) {
  const Value drawn =
      cast(uniform(key, shape, 0, static_cast<double>(count), DType::f64), DType::i64);
  return minimum(drawn, count - 1) + low;  // a product may have been rounded up to count
}

}  // namespace weft::zoo
