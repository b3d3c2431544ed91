// Conversion of image patches to matrices (im2col), which turns convolutions into matrix products.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// The sizes of a 2-D cross-correlation of x [N, C, H, W] with w [O, C / groups, kh, kw], with the
/// result out [N, O, OH, OW].
struct ConvGeometry {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;
  std::int64_t out_channels = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t padding_height = 0, padding_width = 0;
  std::int64_t dilation_height = 1, dilation_width = 1;
  std::int64_t groups = 1;

  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_out_channels() const { return out_channels / groups; }
  std::int64_t taps() const { return kernel_height * kernel_width; }
  std::int64_t plane() const { return height * width; }
  std::int64_t positions() const { return out_height * out_width; }
  /// Returns true if the patches of an image are the image itself.
  bool pointwise() const {
    return taps() == 1 && stride_height == 1 && stride_width == 1 && padding_height == 0 &&
           padding_width == 0;
  }
};

/// Sets patches[(c * taps + tap) * (end - begin) + p - begin] to the element of channel c that
/// kernel tap `tap` reads at output position p (row-major over OH x OW), or to 0 in the padding.
/// Processes positions [begin, end) and the `channels` planes starting at `image`.
void gather_patches(const ConvGeometry& g, const float* image, std::int64_t channels,
                    std::int64_t begin, std::int64_t end, float* patches);
void gather_patches(const ConvGeometry& g, const double* image, std::int64_t channels,
                    std::int64_t begin, std::int64_t end, double* patches);

/// The adjoint of gather_patches(). Adds every entry of `patches` to the element of `image` from
/// which it was read.
void scatter_patches(const ConvGeometry& g, const float* patches, std::int64_t channels,
                     std::int64_t begin, std::int64_t end, float* image);
void scatter_patches(const ConvGeometry& g, const double* patches, std::int64_t channels,
                     std::int64_t begin, std::int64_t end, double* image);

}  // namespace weft::kernels
