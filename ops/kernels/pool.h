// Pooling of one image plane.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Sizes of a window that slides over a plane.
struct PoolGeometry {
  std::int64_t height = 0, width = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t padding_height = 0, padding_width = 0;
};

/// Maximum of each window inside the plane, and where it is (y * width + x). The first of equals
/// wins; the first NaN wins over everything. Every window must touch the plane (padding at most
/// half the kernel).
void max_pool_plane(const PoolGeometry& g, const float* x, float* out, std::int64_t* index);
void max_pool_plane(const PoolGeometry& g, const double* x, double* out, std::int64_t* index);

/// Mean of each window, the padding counting as zeros.
void avg_pool_plane(const PoolGeometry& g, const float* x, float* out);
void avg_pool_plane(const PoolGeometry& g, const double* x, double* out);

/// The adjoint of avg_pool_plane: dx is overwritten.
void avg_pool_grad_plane(const PoolGeometry& g, const float* cotangent, float* dx);
void avg_pool_grad_plane(const PoolGeometry& g, const double* cotangent, double* dx);

}  // namespace weft::kernels
