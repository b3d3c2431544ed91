// Packing of image patches into the panels of a matrix product, without an intermediate matrix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/convolution/conv.h"

namespace weft::kernels {

/// Packs rows [row, row + depth) of the patch matrix (see gather_patches()) at positions [begin,
/// end) into panels for the FMA engine of the active SIMD target, like GemmEngine::pack_b. The
/// image consists of the planes of a group. panel_bytes is GemmEngine::b_panel_bytes(depth).
void pack_patches(const ConvGeometry& g, const float* image, std::int64_t row, std::int64_t depth,
                  std::int64_t begin, std::int64_t end, std::size_t panel_bytes, std::byte* panels);
void pack_patches(const ConvGeometry& g, const double* image, std::int64_t row, std::int64_t depth,
                  std::int64_t begin, std::int64_t end, std::size_t panel_bytes, std::byte* panels);

}  // namespace weft::kernels
