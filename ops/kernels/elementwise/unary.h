// Elementwise ops with one operand: their table, and their row kernels.
#pragma once

#include <span>
#include <string_view>

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// An elementwise op with one operand and no attributes. The result has the dtype of the operand.
struct UnaryOp {
  const char* name;
  const char* doc;
  /// Returns the row kernel out[i] = op(in[i]), or null if the op does not accept the dtype. All
  /// ops accept f32 and f64. Ops that accept i32 accept all integer dtypes; integers wrap around.
  RowKernel::Function (*row)(DType dtype);
  double ns_per_element;  // approximate time per float on one core
  // Interval of the operand in the samples.
  double low = -2, high = 2;
  /// The derivative is 0 wherever it exists, so the op has no gradient.
  bool piecewise_constant = false;
};

/// Returns the table of ops, with row kernels for the current SIMD target. The order and the
/// descriptions are the same for all targets.
std::span<const UnaryOp> unary_ops();
/// Returns the row kernel of an op in the table, or null if it does not accept the dtype.
RowKernel::Function unary_row(std::string_view op, DType dtype);

/// Returns the row kernel min(max(x, lo), hi) for f32, f64 and integers. NaN remains NaN. Requires
/// lo <= hi; an infinite bound has no effect.
RowKernel clamp_row(DType dtype, double lo, double hi);
/// Returns the row kernel of isfinite, from f32 or f64 to bool.
RowKernel::Function isfinite_row(DType dtype);
/// Returns the row kernel of logical_not, from bool to bool.
RowKernel::Function logical_not_row();

}  // namespace weft::kernels
