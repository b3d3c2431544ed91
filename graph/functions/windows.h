// Helpers for conv.cc and pool.cc: window padding (explicit or same_padding), and conversion
// between sequences and images.
#pragma once

#include <string_view>
#include <vector>

#include "weft/graph/functions/conv.h"

namespace WEFT_API weft {
namespace windows {

inline std::vector<std::int64_t> integers(const Size2d& pair) { return {pair[0], pair[1]}; }

/// Throws ShapeError unless v has `rank` axes. `what` describes v, as in "x [N, C, L]".
void require_rank(Value v, int rank, std::string_view what, std::string_view function,
                  SourceLocation loc);

/// The result of pad_windows().
struct Padded {
  Value x;               // x with the padding that the op cannot apply itself
  Size2d both_sides;     // the remaining padding, for the op's attribute
  bool changed = false;  // true if there is any padding
};
/// Splits `padding` of x [N, C, H, W] into symmetric constant padding, which the op applies without
/// a copy, and padding that has to be added to x first. `span` is dilation (kernel - 1) + 1.
/// Operands that the op rejects are returned unchanged.
Padded pad_windows(Value x, const Padding2d& padding, const Size2d& span, const Size2d& stride,
                   double value, SourceLocation loc);

/// Converts a sequence [N, C, L] to an image [N, C, 1, L], and back.
Value as_image(Value v);
Value as_sequence(Value v);
inline Padding2d as_image(const Padding1d& padding) {
  return padding.same() ? Padding2d(same_padding) : Padding2d(0, padding.both_sides());
}

}  // namespace windows
}  // namespace weft
