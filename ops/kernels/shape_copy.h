// Copies between strided arrays of any dtype: what permute, slice, concat, pad, flip and
// broadcast_to have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/shape.h"

namespace weft::kernels {

/// A plan for dst[Σ i_k * dst_strides[k]] = src[Σ i_k * src_strides[k]] over all i in `sizes`.
/// Strides are in elements; those of the source may be 0 (broadcast) or negative (flip). Axes are
/// merged where both strides allow; contiguous runs are copied with memcpy, transposed planes in
/// blocks.
class StridedCopy {
 public:
  StridedCopy(const Sizes& sizes, const Sizes& src_strides, const Sizes& dst_strides,
              std::size_t element_size);

  /// Independent pieces, from the sizes only; at least 1.
  std::int64_t chunks() const { return chunks_; }
  double cost_ns() const;
  /// Copies piece `chunk`. The pointers are those of element 0 of either array.
  void run(const std::byte* src, std::byte* dst, std::int64_t chunk) const;

 private:
  template <std::size_t kSize>
  void run_sized(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const;

  struct Axis {
    std::int64_t size, src, dst;
  };
  std::vector<Axis> outer_;  // without the inner one or two
  Axis rows_ = {1, 0, 0};    // with a size above 1: the plane rows_ x inner_ is transposed
  Axis inner_ = {1, 1, 1};
  std::int64_t units_ = 0;  // elements, or rows of tiles of transposed planes
  std::int64_t elements_ = 0;
  std::int64_t chunks_ = 1;
  std::size_t element_size_;
};

/// Writes elements [begin, end) of dst, each a copy of the `element_size` bytes at `value`.
void fill(void* dst, std::int64_t begin, std::int64_t end, const void* value,
          std::size_t element_size);

}  // namespace weft::kernels
