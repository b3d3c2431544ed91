// What conv.cc and pool.cc share: padding of windows by numbers or `same`, sequences as images.
#pragma once

#include <string_view>
#include <vector>

#include "weft/graph/functions/conv.h"

namespace WEFT_API weft {
namespace windows {

inline std::vector<std::int64_t> integers(const Size2d& pair) { return {pair[0], pair[1]}; }

/// Throws ShapeError unless v has `rank` axes; `what` is "x [N, C, L]".
void require_rank(Value v, int rank, std::string_view what, std::string_view function,
                  SourceLocation loc);

/// x [N, C, H, W] with as much of `padding` as an op cannot do by itself, and what is left for its
/// attribute. `span` is dilation (kernel - 1) + 1. What the op refuses anyway is left to it.
struct Padded {
  Value x;
  Size2d both_sides;
  bool changed = false;  // whether there is any padding
};
Padded pad_windows(Value x, const Padding2d& padding, const Size2d& span, const Size2d& stride,
                   double value, SourceLocation loc);

/// A sequence as an image of height 1, and back.
Value as_image(Value v);
Value as_sequence(Value v);
inline Padding2d as_image(const Padding1d& padding) {
  return padding.same() ? Padding2d(same_padding) : Padding2d(0, padding.both_sides());
}

}  // namespace windows
}  // namespace weft
