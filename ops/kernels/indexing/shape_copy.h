// Copies between strided arrays of any dtype, for permute, slice, concat, pad, flip and
// broadcast_to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/shape.h"

namespace weft::kernels {

/// A plan for copying dst[Σ i_k * dst_strides[k]] = src[Σ i_k * src_strides[k]] for all indices i
/// in `sizes`. Strides are in elements; source strides may be 0 (broadcast) or negative (flip).
/// Axes are merged if the strides of both arrays allow it. Contiguous runs are copied with memcpy,
/// or with streaming stores if several workers share the work, and transposed planes in blocks.
class StridedCopy {
 public:
  StridedCopy(const Sizes& sizes, const Sizes& src_strides, const Sizes& dst_strides,
              std::size_t element_size);

  /// Returns the number of independent pieces, which is at least 1 and depends only on the sizes.
  std::int64_t chunks() const { return chunks_; }
  double cost_ns() const;
  /// Copies piece `chunk`. The pointers are the addresses of element 0 of the arrays.
  void run(const std::byte* src, std::byte* dst, std::int64_t chunk) const;

 private:
  template <std::size_t kSize>
  void run_sized(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const;

  struct Axis {
    std::int64_t size, src, dst;
  };
  std::vector<Axis> outer_;  // all axes except the inner one or two
  // If the size of rows_ is greater than 1, the plane rows_ x inner_ is transposed.
  Axis rows_ = {1, 0, 0};
  Axis inner_ = {1, 1, 1};
  std::int64_t units_ = 0;  // number of elements, or of tile rows in transposed planes
  std::int64_t elements_ = 0;
  std::int64_t chunks_ = 1;
  std::size_t element_size_;
};

/// Writes elements [begin, end) of dst, each a copy of the `element_size` bytes at `value`.
void fill(void* dst, std::int64_t begin, std::int64_t end, const void* value,
          std::size_t element_size);

}  // namespace weft::kernels
