// Elementwise ops with two or three operands: their tables, and their row kernels. An operand may
// be a single element for the whole row.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// An elementwise op with two operands of the same dtype and no attributes.
struct BinaryOp {
  const char* name;
  const char* doc;
  /// Returns the row kernel for operands of a dtype, or null if the op does not accept the dtype.
  RowKernel::Function (*row)(DType dtype);
  bool commutative = false;
  // Smallest values of the operands in the samples.
  double low_a = -2, low_b = -2;
  // Approximate time per float on one core. The default is limited by memory bandwidth.
  double ns_per_element = 0.4;
};

// The tables of ops, with row kernels for the current SIMD target. The order and the descriptions
// are the same for all targets.

/// Arithmetic on f32, f64 and integers. Integers wrap around. Integer divisors must not be 0, and
/// integer exponents must not be negative. The smallest integer divided by -1 yields itself.
std::span<const BinaryOp> arithmetic_ops();
/// Comparisons, from any dtype to bool. Comparisons with NaN are false, except for not_equal, which
/// is true.
std::span<const BinaryOp> comparison_ops();
/// Logical ops, from bool to bool.
std::span<const BinaryOp> logical_ops();

/// Returns the row kernel of an arithmetic op, or null if it does not accept the dtype.
RowKernel::Function binary_row(std::string_view op, DType dtype);
/// Returns the row kernel out[i] = c[i] ? a[i] : b[i] for elements of 1, 2, 4 or 8 bytes; c is
/// bool.
RowKernel::Function where_row(std::size_t element_size);

}  // namespace weft::kernels
