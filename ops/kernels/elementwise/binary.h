// Row kernels of elementwise ops with two or three operands. An operand may be a single element for
// the whole row. The returned function is null for dtypes that the op does not accept.
#pragma once

#include <cstddef>

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

enum class BinaryOp { add, sub, mul, div, pow, maximum, minimum };
enum class CompareOp { equal, not_equal, less, less_equal, greater, greater_equal };
enum class LogicalOp { logical_and, logical_or, logical_xor };

/// Returns the row kernel of an arithmetic op on f32, f64 and integers. Integers wrap around.
/// Integer divisors must not be 0, and integer exponents must not be negative. The smallest integer
/// divided by -1 yields itself. maximum and minimum return NaN if either operand is NaN.
RowKernel::Function binary_row(BinaryOp op, DType dtype);
/// Returns the row kernel of a comparison, from any dtype to bool. Comparisons with NaN are false,
/// except for not_equal, which is true.
RowKernel::Function compare_row(CompareOp op, DType dtype);
/// Returns the row kernel of a logical op, from bool to bool.
RowKernel::Function logical_row(LogicalOp op);
/// Returns the row kernel out[i] = c[i] ? a[i] : b[i] for elements of 1, 2, 4 or 8 bytes; c is
/// bool.
RowKernel::Function where_row(std::size_t element_size);

}  // namespace weft::kernels
