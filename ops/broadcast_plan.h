// A loop nest over broadcast operands with as few axes as possible, built once per kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/core/shape.h"

namespace weft {

/// Dense operands broadcast (NumPy rules) to a dense result. Axes of size 1 are dropped, and
/// neighbouring axes that are contiguous in every operand are merged, so that operands of equal
/// sizes form a single row.
class BroadcastPlan {
 public:
  /// `operands` are sizes that broadcast to `out`; throws ShapeError that names both if they do
  /// not.
  BroadcastPlan(const Sizes& out, const std::vector<Sizes>& operands);

  /// Number of elements of the result.
  std::int64_t numel() const { return numel_; }
  /// Number of elements of a row, the innermost merged axis.
  std::int64_t row() const { return sizes_.back(); }
  /// 1 if operand i advances along a row, 0 if one element of it is used for the whole row.
  std::int64_t step(std::size_t i) const { return strides_[i].back(); }
  /// Merged axes, outermost first (at least one), and the operands' strides (in elements) along
  /// them.
  const Sizes& sizes() const { return sizes_; }
  const Sizes& strides(std::size_t operand) const { return strides_[operand]; }

  /// Calls body(position, offsets, count) for the parts of rows that make up the flattened
  /// positions [begin, end) of the result, in order. `offsets[i]` is the first element of operand
  /// i, which continues with stride step(i).
  template <class Body>
  void for_rows(std::int64_t begin, std::int64_t end, Body&& body) const {
    if (begin >= end) return;
    std::vector<std::int64_t> index(sizes_.size()), offsets(strides_.size());
    locate(begin, index, offsets);
    while (begin < end) {
      const std::int64_t count = std::min(row() - index.back(), end - begin);
      body(begin, static_cast<const std::int64_t*>(offsets.data()), count);
      begin += count;
      next_row(index, offsets);
    }
  }

 private:
  /// Computes the index along every axis and the offset of every operand at a flattened position of
  /// the result.
  void locate(std::int64_t position, std::vector<std::int64_t>& index,
              std::vector<std::int64_t>& offsets) const;
  /// Advances both to the beginning of the next row.
  void next_row(std::vector<std::int64_t>& index, std::vector<std::int64_t>& offsets) const;

  std::int64_t numel_ = 0;
  Sizes sizes_;
  std::vector<Sizes> strides_;
};

}  // namespace weft
