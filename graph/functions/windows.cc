#include "weft/graph/functions/windows.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions/shape.h"

namespace weft::windows {
namespace {

// Returns the padding before and after an axis for same_padding.
std::pair<Dim, Dim> same_pads(const Dim& size, std::int64_t span, std::int64_t stride) {
  const Dim count = floor_div(size + Dim(stride - 1), Dim(stride));
  const Dim last = (count - Dim(1)) * Dim(stride);  // start of the last window
  if (span >= stride) {
    const Dim total = last + Dim(span) - size, before = floor_div(total, Dim(2));
    return {before, total - before};
  }
  // There are gaps between the windows. Another gap after the last window is never read, but makes
  // the padded size a multiple of the stride, so the number of windows simplifies to `count`.
  const Dim before = floor_div(max(last + Dim(span) - size, Dim(0)), Dim(2));
  return {before, count * Dim(stride) - size - before};
}

}  // namespace

void require_rank(Value v, int rank, std::string_view what, std::string_view function,
                  SourceLocation loc) {
  if (v.rank() == rank) return;
  v.graph().fail(ShapeError(fmt::format("{} must have {} axes, but is {} with {}", what, rank,
                                        v.type().str(), v.rank())),
                 function, {v}, loc);
}

Padded pad_windows(Value x, const Padding2d& padding, const Size2d& span, const Size2d& stride,
                   double value, SourceLocation loc) {
  const Size2d& given = padding.both_sides();
  Padded result{x, given, given != Size2d{0, 0}};
  if (!padding.same() || x.rank() != 4) return result;
  std::vector<std::pair<Dim, Dim>> pads(4, {Dim(0), Dim(0)});
  bool pads_any = false;
  for (std::size_t i = 0; i < 2; ++i) {
    // The limit of the ops (ops/convolution/window.h).
    constexpr std::int64_t kEnd = std::int64_t{1} << 31;
    if (span[i] < 1 || stride[i] < 1 || span[i] >= kEnd * kEnd || stride[i] >= kEnd) return result;
    const auto [before, after] = same_pads(x.shape()[static_cast<int>(i) + 2], span[i], stride[i]);
    if (before == Dim(0) && after == Dim(0)) continue;
    result.changed = true;
    // The op itself can apply equal padding on both sides of an axis, without a copy.
    if (before.is_constant() && before == after) {
      result.both_sides[i] = before.constant();
    } else {
      pads[i + 2] = {before, after};
      pads_any = true;
    }
  }
  if (pads_any) result.x = pad(Arg(x, loc), pads, {.value = value});
  return result;
}

Value as_image(Value v) { return unsqueeze(v, 2); }
Value as_sequence(Value v) { return reshape(v, Shape{v.shape()[0], v.shape()[1], v.shape()[3]}); }

}  // namespace weft::windows
