// A loop nest over broadcast operands with as few axes as possible. Created once per kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/core/shape.h"

namespace weft {

/// A plan for broadcasting dense operands to a dense result according to the NumPy rules. Axes of
/// size 1 are dropped, and neighbouring axes that are contiguous in every operand are merged, so
/// operands of equal sizes form a single row.
class BroadcastPlan {
 public:
  /// `operands` contains the sizes of each operand. Throws ShapeError, naming both lists of sizes,
  /// if an operand does not broadcast to `out`.
  BroadcastPlan(const Sizes& out, const std::vector<Sizes>& operands);

  /// Returns the number of elements of the result.
  std::int64_t numel() const { return numel_; }
  /// Returns the number of elements in a row, which is the innermost merged axis.
  std::int64_t row() const { return sizes_.back(); }
  /// Returns 1 if operand i advances along a row, or 0 if a single element of the operand is used
  /// for the whole row.
  std::int64_t step(std::size_t i) const { return strides_[i].back(); }
  /// Return the merged axes, outermost first (at least one), and the strides of the operands along
  /// these axes, in elements.
  const Sizes& sizes() const { return sizes_; }
  const Sizes& strides(std::size_t operand) const { return strides_[operand]; }

  /// Calls body(position, offsets, count), in order, for the parts of rows that make up the
  /// flattened positions [begin, end) of the result. `offsets[i]` is the offset of the first
  /// element of operand i; further elements follow with stride step(i).
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
  /// Computes the index along each axis and the offset in each operand for a flattened position in
  /// the result.
  void locate(std::int64_t position, std::vector<std::int64_t>& index,
              std::vector<std::int64_t>& offsets) const;
  /// Advances indices and offsets to the beginning of the next row.
  void next_row(std::vector<std::int64_t>& index, std::vector<std::int64_t>& offsets) const;

  std::int64_t numel_ = 0;
  Sizes sizes_;
  std::vector<Sizes> strides_;
};

}  // namespace weft
