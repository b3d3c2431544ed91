#include "weft/models/language/windows.h"

#include <vector>

#include "weft/graph/functions/shape.h"

namespace weft {

CausalWindows causal_windows(Value x, Value past, std::int64_t kernel, std::int64_t dilation) {
  if (kernel == 1) return {x, past};
  const Value all = concat({past, x}, 1);
  const Dim &time = x.size(1), &kept = past.size(1);
  std::vector<Value> pieces;
  for (std::int64_t i = 0; i < kernel; ++i) {
    const Dim begin(i * dilation);
    pieces.push_back(slice(all, 1, {.begin = begin, .end = begin + time}));
  }
  return {concat(pieces, 2), slice(all, 1, {.begin = time, .end = time + kept})};
}

}  // namespace weft
