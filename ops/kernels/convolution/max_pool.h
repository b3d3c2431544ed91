// Maxima of windows without their positions, for inference.
#pragma once

#include "weft/ops/kernels/convolution/pool.h"

namespace weft::kernels {

/// Computes the values of max_pool_plane() with vectors of windows.
void max_pool_values(const PoolGeometry& g, const float* x, float* out);
void max_pool_values(const PoolGeometry& g, const double* x, double* out);

}  // namespace weft::kernels
