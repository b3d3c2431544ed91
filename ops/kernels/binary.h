// Elementwise functions of two and three operands over rows. A step is 1, or 0 for an operand of
// which one element serves the whole row. `out` may be one of the operands where the element sizes
// agree.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// One operand of a row.
struct RowOperand {
  const void* data;
  std::int64_t step;  // 0 or 1
};

enum class BinaryOp { add, sub, mul, div, pow, maximum, minimum };
enum class CompareOp { equal, not_equal, less, less_equal, greater, greater_equal };
enum class LogicalOp { logical_and, logical_or, logical_xor };

/// f32, f64 and integers. Integers wrap around; a divisor must not be 0 nor an integer exponent
/// negative (the smallest integer divided by -1 is itself). maximum and minimum of a NaN and
/// anything is NaN.
void binary_row(BinaryOp op, DType dtype, RowOperand a, RowOperand b, void* out, std::int64_t n);
/// Any dtype -> bool. Comparisons with NaN are false, not_equal is true.
void compare_row(CompareOp op, DType dtype, RowOperand a, RowOperand b, void* out, std::int64_t n);
/// bool -> bool.
void logical_row(LogicalOp op, RowOperand a, RowOperand b, void* out, std::int64_t n);
/// out[i] = c[i] ? a[i] : b[i] for elements of 1, 2, 4 or 8 bytes; c is bool.
void where_row(std::size_t element_size, RowOperand c, RowOperand a, RowOperand b, void* out,
               std::int64_t n);

}  // namespace weft::kernels
