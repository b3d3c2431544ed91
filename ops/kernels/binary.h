// Row kernels of elementwise ops with two and three operands, some of which may be a single element
// for the whole row. A function is null for dtypes that the op does not accept.
#pragma once

#include <cstddef>

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

enum class BinaryOp { add, sub, mul, div, pow, maximum, minimum };
enum class CompareOp { equal, not_equal, less, less_equal, greater, greater_equal };
enum class LogicalOp { logical_and, logical_or, logical_xor };

/// For f32, f64 and integers. Integers wrap around; an integer divisor must not be 0 and an integer
/// exponent must not be negative. The smallest integer divided by -1 is itself. maximum and minimum
/// return NaN if either operand is NaN.
RowKernel::Function binary_row(BinaryOp op, DType dtype);
/// From any dtype to bool. Comparisons with NaN are false, except that not_equal is true.
RowKernel::Function compare_row(CompareOp op, DType dtype);
/// From bool to bool.
RowKernel::Function logical_row(LogicalOp op);
/// Computes out[i] = c[i] ? a[i] : b[i] for elements of 1, 2, 4 or 8 bytes; c is bool.
RowKernel::Function where_row(std::size_t element_size);

}  // namespace weft::kernels
