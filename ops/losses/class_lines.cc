#include "weft/ops/losses/class_lines.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

Shape require_logits(const InferContext& c, int x) {
  c.require_floating(x, "logits");
  c.require_min_rank(x, 1, "logits");
  const std::int64_t axis = c.attributes().integer("axis");
  if (axis < 0 || axis >= c.rank(x)) {
    throw ShapeError(fmt::format("axis {} is not an axis of logits, {}; it must be from 0 to {}",
                                 axis, c.input(x).str(), c.rank(x) - 1));
  }
  const double smoothing = c.attributes().real("label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw ArgumentError(fmt::format("label_smoothing must be in [0, 1], but is {}", smoothing));
  }
  std::vector<Dim> positions;
  for (int i = 0; i < c.rank(x); ++i) {
    if (i != axis) positions.push_back(c.shape(x)[i]);
  }
  return Shape(std::move(positions));
}

std::vector<ValueType> infer_logits_grad(const InferContext& c, const Shape& positions) {
  c.require_dtype(0, c.dtype(1), "g");
  c.require_shape(0, positions, "g");
  c.require_dtype(3, c.dtype(1), "lse");
  c.require_shape(3, positions, "lse");
  return {c.input(1)};
}

ClassLines::ClassLines(const Sizes& logits, std::int64_t axis) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    (at < axis ? outer : at == axis ? classes : inner) *= logits[i];
  }
}

std::int64_t ClassLines::chunks() const {
  const std::int64_t size = std::max<std::int64_t>(classes, 1) * (inner == 1 ? 1 : kColumns);
  return chunk_count(outer * blocks(), std::max<std::int64_t>(1, (1 << 14) / size));
}

}  // namespace weft
