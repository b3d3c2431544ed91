// Pooling of a single image plane.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// The sizes of a plane, of the window that slides over it, and of the output.
struct PoolGeometry {
  std::int64_t height = 0, width = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t padding_height = 0, padding_width = 0;
};

/// Computes the maximum of the part of each window that is inside the plane, and its position (y *
/// width + x). Among equal elements, the first one is selected. The first NaN takes precedence over
/// all numbers. Every window must overlap the plane (padding at most half the kernel size).
void max_pool_plane(const PoolGeometry& g, const float* x, float* out, std::int64_t* index);
void max_pool_plane(const PoolGeometry& g, const double* x, double* out, std::int64_t* index);

/// Computes the mean of each window. Padding counts as zeros.
void avg_pool_plane(const PoolGeometry& g, const float* x, float* out);
void avg_pool_plane(const PoolGeometry& g, const double* x, double* out);

/// Computes the adjoint of avg_pool_plane. Overwrites dx.
void avg_pool_grad_plane(const PoolGeometry& g, const float* cotangent, float* dx);
void avg_pool_grad_plane(const PoolGeometry& g, const double* cotangent, double* dx);

}  // namespace weft::kernels
