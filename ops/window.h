// Windows that slide over images: the one place for the attributes and sizes that convolutions and
// pools share.
#pragma once

#include <array>

#include "weft/ops/op.h"

namespace weft {

/// A window on one axis of an image.
struct Window {
  std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// Elements from the window's first tap to its last.
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
  /// floor((size + 2 padding - span) / stride) + 1 places. Throws ShapeError where a constant
  /// `size` leaves no place for the window; `what` is "height" or "width".
  Dim positions(const Dim& size, std::string_view what) const;
};

/// Over height and width.
struct Windows {
  Window height, width;

  /// Of `attributes`: "stride", "padding" and, where there is one, "dilation". Throws ArgumentError
  /// unless each is two integers of at least 1 (0 for padding), and ShapeError for a kernel of less
  /// than 1. All are less than 2^31, so that no sum or product of two of them overflows.
  Windows(const Attributes& attributes, std::int64_t kernel_height, std::int64_t kernel_width);

  /// Positions over an image of these sizes.
  std::array<Dim, 2> positions(const Dim& image_height, const Dim& image_width) const {
    return {height.positions(image_height, "height"), width.positions(image_width, "width")};
  }
  /// What the shape rule could not know of symbolic sizes: throws ShapeError unless the windows
  /// have a place on an image of axes 2 and 3 of `image`. For kernels, whose sizes are all known.
  void require_place(const Sizes& image) const { positions(image[2], image[3]); }
};

/// The two integers of attribute `name`, for height and width; throws ArgumentError unless there
/// are two of at least `least` and below 2^31.
std::array<std::int64_t, 2> window_pair(const Attributes& attributes, std::string_view name,
                                        std::int64_t least);

}  // namespace weft
