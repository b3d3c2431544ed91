#include "weft/ops/convolution/window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {
namespace {

constexpr std::int64_t kEnd = std::int64_t{1} << 31;

}  // namespace

std::array<std::int64_t, 2> window_pair(const Attributes& attributes, std::string_view name,
                                        std::int64_t least) {
  const auto& values = attributes.integers(name);
  if (values.size() != 2 || values[0] < least || values[1] < least) {
    throw ArgumentError(fmt::format("{} must be two integers of at least {}, but is [{}]", name,
                                    least, fmt::join(values, ", ")));
  }
  if (values[0] >= kEnd || values[1] >= kEnd) {
    throw ArgumentError(
        fmt::format("{} must be less than 2^31, but is [{}]", name, fmt::join(values, ", ")));
  }
  return {values[0], values[1]};
}

Dim Window::positions(const Dim& size, std::string_view what) const {
  const Dim room = size + Dim(2 * padding - span());
  if (room.is_constant() && room.constant() < 0) {
    throw ShapeError(
        fmt::format("{}: a kernel of size {} with dilation {} spans {}, but the padded input size "
                    "is only {} (padding {})",
                    what, kernel, dilation, span(), (size + Dim(2 * padding)).str(), padding));
  }
  return floor_div(room, Dim(stride)) + Dim(1);
}

Windows::Windows(const Attributes& attributes, std::int64_t kernel_height,
                 std::int64_t kernel_width) {
  for (const std::int64_t size : {kernel_height, kernel_width}) {
    if (size >= 1 && size < kEnd) continue;
    throw ShapeError(fmt::format("the kernel must have sizes of at least 1{}, but has {} x {}",
                                 size < 1 ? "" : " and less than 2^31", kernel_height,
                                 kernel_width));
  }
  const auto stride = window_pair(attributes, "stride", 1);
  const auto padding = window_pair(attributes, "padding", 0);
  const std::array<std::int64_t, 2> dilation = attributes.find("dilation") == nullptr
                                                   ? std::array<std::int64_t, 2>{1, 1}
                                                   : window_pair(attributes, "dilation", 1);
  height = {kernel_height, stride[0], padding[0], dilation[0]};
  width = {kernel_width, stride[1], padding[1], dilation[1]};
}

}  // namespace weft
