// Views of logits for losses over classes: the sizes around the class axis, and the split of the
// positions into pieces of work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/ops/kernel.h"
#include "weft/ops/op.h"

namespace weft {

/// Checks the logits (operand `x`), the attribute axis and label_smoothing. Returns the shape of
/// the positions: that of the logits without the class axis.
Shape require_logits(const InferContext& c, int x);

/// Checks the operands g (0) and lse (3) of a gradient with respect to the logits (1), which must
/// have the shape of the positions. Returns the types of its outputs.
std::vector<ValueType> infer_logits_grad(const InferContext& c, const Shape& positions);

/// A view of the logits as [outer, classes, inner] and of the positions as [outer, inner].
struct ClassLines {
  std::int64_t outer = 1, classes = 1, inner = 1;

  ClassLines(const Sizes& logits, std::int64_t axis);

  std::int64_t positions() const { return outer * inner; }
  /// Returns the offset of class 0 at a position.
  std::int64_t offset(std::int64_t position) const {
    return position / inner * classes * inner + position % inner;
  }
  /// Returns the number of pieces of work, which depends only on the sizes.
  std::int64_t chunks() const;

  /// Calls fn(outer index, first column, end column) for all pieces of one chunk. If inner == 1,
  /// calls fn(first row, 0, number of rows) instead.
  template <class Fn>
  void for_pieces(std::int64_t chunks, std::int64_t chunk, Fn&& fn) const {
    if (inner == 1) {
      const auto [begin, end] = chunk_range(outer, chunks, chunk);
      if (begin < end) fn(begin, std::int64_t{0}, end - begin);
      return;
    }
    const auto [begin, end] = chunk_range(outer * blocks(), chunks, chunk);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t first = unit % blocks() * kColumns;
      fn(unit / blocks(), first, std::min(inner, first + kColumns));
    }
  }

 private:
  /// The number of positions per piece of work if the class axis is not the last axis.
  static constexpr std::int64_t kColumns = 64;
  std::int64_t blocks() const { return inner == 1 ? 1 : (inner + kColumns - 1) / kColumns; }
};

/// Adds soft_cross_entropy and its gradient. Called by CrossEntropyOps::add.
void add_soft_cross_entropy_ops(OpSet& ops);

}  // namespace weft
