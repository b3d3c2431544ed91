// Windows of images of bytes as rows, for convolutions that are products of integers.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/ops/convolution/window.h"

namespace weft {

/// Returns the windows of an operation with the attributes "kernel", "stride", "padding" and
/// "dilation", or nullopt if "kernel" is empty. Throws ArgumentError and ShapeError as Windows
/// does.
std::optional<Windows> optional_windows(const Attributes& attributes);

/// The windows of images [N, H, W, C]. Row (n, oh, ow) consists of the pixels of one window, in the
/// order [kernel height, kernel width, C].
struct BytePatches {
  Windows windows;
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t out_height = 0, out_width = 0;

  /// The sizes of `images` are [N, H, W, C]. Throws ShapeError unless the windows fit.
  BytePatches(const Windows& windows, const Sizes& images);
  std::int64_t inputs() const { return windows.height.kernel * windows.width.kernel * channels; }
  /// Writes rows [begin, end). Pixels outside of an image are `padding`.
  void gather(const std::int8_t* images, std::int64_t begin, std::int64_t end, std::int8_t padding,
              std::int8_t* to) const;
};

}  // namespace weft
