// Elementwise functions of two and three operands, of which some may be one element for the whole
// row. A function is null for dtypes that the op does not take.
#pragma once

#include <cstddef>

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

enum class BinaryOp { add, sub, mul, div, pow, maximum, minimum };
enum class CompareOp { equal, not_equal, less, less_equal, greater, greater_equal };
enum class LogicalOp { logical_and, logical_or, logical_xor };

/// f32, f64 and integers. Integers wrap around; a divisor must not be 0 nor an integer exponent
/// negative (the smallest integer divided by -1 is itself). maximum and minimum of a NaN and
/// anything is NaN.
RowKernel::Function binary_row(BinaryOp op, DType dtype);
/// Any dtype -> bool. Comparisons with NaN are false, not_equal is true.
RowKernel::Function compare_row(CompareOp op, DType dtype);
/// bool -> bool.
RowKernel::Function logical_row(LogicalOp op);
/// out[i] = c[i] ? a[i] : b[i] for elements of 1, 2, 4 or 8 bytes; c is bool.
RowKernel::Function where_row(std::size_t element_size);

}  // namespace weft::kernels
