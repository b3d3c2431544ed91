// Inner loops of the index ops. Indices are checked before these run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// A tensor of indices: i32 or i64.
struct Indices {
  const void* data;
  DType dtype;
};

/// out[j] = x[index[j]] for j in [begin, end); rows of `row_bytes` bytes.
void take_rows(const std::byte* x, Indices index, std::int64_t begin, std::int64_t end,
               std::size_t row_bytes, std::byte* out);

/// out[index[j]][c] += src[j][c] for j in [0, count) in this order and c in [c_begin, c_end), where
/// index[j] is in [d_begin, d_end); rows have `width` elements. f32, f64, integers (wrap around).
struct RowRange {
  std::int64_t d_begin, d_end, c_begin, c_end;
};
void add_rows(DType dtype, const void* src, Indices index, std::int64_t count, std::int64_t width,
              const RowRange& range, void* out);

/// out[j][c] = x[index[j][c]][c] for j in [0, count), c in [c_begin, c_end); rows of `width`
/// elements.
void take_along(std::size_t element_size, const void* x, Indices index, std::int64_t index_offset,
                std::int64_t count, std::int64_t width, std::int64_t c_begin, std::int64_t c_end,
                void* out);

/// out[index[j][c]][c] += src[j][c] for j in [0, count) in this order, c in [c_begin, c_end).
void add_along(DType dtype, const void* src, Indices index, std::int64_t index_offset,
               std::int64_t count, std::int64_t width, std::int64_t c_begin, std::int64_t c_end,
               void* out);

}  // namespace weft::kernels
