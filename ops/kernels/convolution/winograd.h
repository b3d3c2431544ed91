// The transforms of Winograd's convolution F(2x2, 3x3) (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2016): the 2 x 2 elements of a tile of the result are computed
// from a patch of 4 x 4 elements with 16 multiplications per pair of channels instead of 36.
//
// The 16 elements of the transformed patches and weights are the operands of 16 matrix products.
// Transformed patches are stored in panels of the FMA engine of the active SIMD target.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/convolution/conv.h"

namespace weft::kernels {

/// The number of elements of a transformed patch.
inline constexpr std::int64_t kWinogradElements = 16;

/// Consecutive rows of tiles of an image, and the tiles of a row. All tiles fit into one panel.
struct WinogradBand {
  std::int64_t row = 0, rows = 0, columns = 0;
};

/// The number of floats after a panel that transforms may overwrite.
std::int64_t winograd_slack();

/// Transforms the kernels of `rows` <= `panel` output channels, w [rows, channels, 3, 3]. Element e
/// of output channel r and channel c is written to u[e * distance + c * panel + r]; output channels
/// from `rows` on are zeros.
void winograd_weights(const float* w, std::int64_t rows, std::int64_t channels, std::int64_t panel,
                      std::int64_t distance, float* u);

/// Transforms the patches of a band in all planes of a group. Element e of tile t and channel c is
/// written to v[e * distance + c * panel + t], for panels with `panel` columns.
void winograd_patches(const ConvGeometry& g, const WinogradBand& band, const float* image,
                      std::int64_t distance, float* v);

/// Computes the elements of the result in a band from the products: element e of tile t and output
/// channel r is m[e * distance + r * panel + t]. `out` is the first row of the band in the plane of
/// the first of `rows` output channels.
void winograd_result(const ConvGeometry& g, const WinogradBand& band, const float* m,
                     std::int64_t distance, std::int64_t rows, float* out);

}  // namespace weft::kernels
