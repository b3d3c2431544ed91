// Sorting of lines, which are sequences of elements with a constant stride.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// Returns the number of bytes of scratch that sort_line() needs for a line of `length` elements.
std::size_t sort_scratch(DType dtype, std::int64_t length);

/// Sorts the line x[0], x[stride], ... with `length` elements. The sort is stable, and NaN counts
/// as the largest value. Writes the first `keep` values and their positions, which are `stride`
/// elements apart in the outputs. Either output may be null. Supports f32, f64 and integers.
void sort_line(DType dtype, const void* x, std::int64_t stride, std::int64_t length,
               bool descending, std::int64_t keep, void* values, std::int64_t* indices,
               std::byte* scratch);

}  // namespace weft::kernels
