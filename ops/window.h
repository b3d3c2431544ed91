// Windows that slide over images: attributes and sizes that convolutions and pools share.
#pragma once

#include <array>

#include "weft/ops/op.h"

namespace weft {

/// The two integers of attribute `name`, for height and width; throws ArgumentError unless there
/// are two of at least `least`.
std::array<std::int64_t, 2> window_pair(const InferContext& context, std::string_view name,
                                        std::int64_t least);

/// floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. Throws ShapeError where a
/// constant `size` leaves no place for the window; `what` is "height" or "width".
Dim window_positions(const Dim& size, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding, std::int64_t dilation, std::string_view what);

}  // namespace weft
