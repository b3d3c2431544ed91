// Inner loops of the index ops. The caller must have checked the indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// The elements of an index tensor, i32 or i64.
struct Indices {
  const void* data;
  DType dtype;
};

/// Copies rows: out[j] = x[index[j]] for j in [begin, end). A row has `row_bytes` bytes.
void take_rows(const std::byte* x, Indices index, std::int64_t begin, std::int64_t end,
               std::size_t row_bytes, std::byte* out);

/// How elements of src are combined with elements of out. Integer sums wrap around; the maximum and
/// the minimum are NaN if either element is NaN.
enum class Combine : std::uint8_t { add, max, min };

/// The range of destination rows [d_begin, d_end) and columns [c_begin, c_end) for combine_rows().
/// For j in [0, count), in this order, combine_rows() combines src[j][c] with out[index[j]][c] for
/// c in [c_begin, c_end) if index[j] is in [d_begin, d_end). Rows have `width` elements of f32, f64
/// or an integer dtype.
struct RowRange {
  std::int64_t d_begin, d_end, c_begin, c_end;
};
void combine_rows(Combine combine, DType dtype, const void* src, Indices index, std::int64_t count,
                  std::int64_t width, const RowRange& range, void* out);

/// Copies elements: out[j][c] = x[index[j][c]][c] for j in [0, count) and c in [c_begin, c_end).
/// Rows have `width` elements.
void take_along(std::size_t element_size, const void* x, Indices index, std::int64_t index_offset,
                std::int64_t count, std::int64_t width, std::int64_t c_begin, std::int64_t c_end,
                void* out);

/// Combines src[j][c] with out[index[j][c]][c] for j in [0, count), in this order, and for c in
/// [c_begin, c_end).
void combine_along(Combine combine, DType dtype, const void* src, Indices index,
                   std::int64_t index_offset, std::int64_t count, std::int64_t width,
                   std::int64_t c_begin, std::int64_t c_end, void* out);

}  // namespace weft::kernels
