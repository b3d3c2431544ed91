// Sliding windows over images: attributes and sizes shared by convolutions and pooling.
#pragma once

#include <array>

#include "weft/ops/op.h"

namespace weft {

/// A window along one axis of an image.
struct Window {
  std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// Returns the number of elements from the first to the last tap of the window.
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
  /// Returns the number of positions, floor((size + 2 padding - span) / stride) + 1. Throws
  /// ShapeError if a constant `size` is too small for the window; `what` is "height" or "width".
  Dim positions(const Dim& size, std::string_view what) const;
};

/// The windows along the height and the width of an image.
struct Windows {
  Window height, width;

  /// Reads "stride", "padding" and, if present, "dilation" from `attributes`. Throws ArgumentError
  /// unless each attribute consists of two integers of at least 1 (0 for padding), and ShapeError
  /// if a kernel size is less than 1. All values must be less than 2^31, so that no sum or product
  /// of two values overflows.
  Windows(const Attributes& attributes, std::int64_t kernel_height, std::int64_t kernel_width);

  /// Returns the numbers of window positions along the height and the width of an image with these
  /// sizes.
  std::array<Dim, 2> positions(const Dim& image_height, const Dim& image_width) const {
    return {height.positions(image_height, "height"), width.positions(image_width, "width")};
  }
  /// Throws ShapeError unless the windows fit into an image whose height and width are axes 2 and 3
  /// of `image`. Kernels call this function when all sizes are known, because shape rules cannot
  /// check symbolic sizes.
  void require_fit(const Sizes& image) const { positions(image[2], image[3]); }
};

/// Returns the two integers of the attribute `name`, for height and width. Throws ArgumentError
/// unless there are exactly two integers, which must be at least `least` and less than 2^31.
std::array<std::int64_t, 2> window_pair(const Attributes& attributes, std::string_view name,
                                        std::int64_t least);

}  // namespace weft
