// Rows that a table selects, for the gradients of operations on blocks of caches.
#pragma once

#include <vector>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/shape.h"

namespace weft {

/// Returns the valid index of a row of x for each element of `rows`: elements outside [0, S) select
/// the first or the last row.
inline Value clamped_rows(const Value& x, const Value& rows) {
  return minimum(maximum(rows, 0), dim_value(x.graph(), x.size(0), rows.dtype()) - 1);
}

/// Returns [B, ..., C * L, ...]: the rows [B, C] of x [S, ..., L, ...], joined along the axis.
inline Value joined_rows(const Value& x, const Value& rows, int axis) {
  std::vector<int> order = {0};  // [B, C, ..., L, ...] -> [B, ..., C, L, ...]
  for (int i = 2; i <= x.rank(); ++i) {
    if (i == axis + 1) order.push_back(1);
    order.push_back(i);
  }
  std::vector<Dim> sizes(x.shape().begin(), x.shape().end());
  sizes[0] = rows.size(0);
  sizes[static_cast<std::size_t>(axis)] = rows.size(1) * x.size(axis);
  return reshape(permute(take(x, clamped_rows(x, rows), 0), order), Shape(std::move(sizes)));
}

}  // namespace weft
