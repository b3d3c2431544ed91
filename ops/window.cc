#include "weft/ops/window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {

std::array<std::int64_t, 2> window_pair(const InferContext& context, std::string_view name,
                                        std::int64_t least) {
  const auto& values = context.attributes().integers(name);
  if (values.size() != 2 || values[0] < least || values[1] < least) {
    throw ArgumentError(fmt::format("{} must be two integers of at least {}, but is [{}]", name,
                                    least, fmt::join(values, ", ")));
  }
  return {values[0], values[1]};
}

Dim window_positions(const Dim& size, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding, std::int64_t dilation, std::string_view what) {
  const Dim room = size + Dim(2 * padding - dilation * (kernel - 1) - 1);
  if (room.is_constant() && room.constant() < 0) {
    throw ShapeError(fmt::format(
        "{}: a kernel of {} with dilation {} spans {}, but there are only {} with padding {}", what,
        kernel, dilation, dilation * (kernel - 1) + 1, (size + Dim(2 * padding)).str(), padding));
  }
  return floor_div(room, Dim(stride)) + Dim(1);
}

}  // namespace weft
