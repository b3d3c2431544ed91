// Matrix products: matmul, linear, dot, outer and einsum.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

// All functions accept f32 or f64 operands of equal dtype, are differentiable, and return
// bit-identical results for any number of threads.

struct MatmulOptions {
  /// Treats the operand as transposed in its last two axes. No transposed copy is made.
  bool transpose_a = false;
  bool transpose_b = false;
  /// Precision of this product and of its gradients; the program's precision by default.
  std::optional<Precision> precision = {};
};
/// Matrix product with NumPy's rules: [..., M, K] x [..., K, N] -> [..., M, N]; batch axes
/// broadcast. A 1-D operand is treated as a row (a) or a column (b); its axis does not appear in
/// the result, and its transpose flag has no effect. K = 0 gives zeros. Costs 2 M N K
/// floating-point operations per matrix; subsequent elementwise functions are fused into the
/// product. Throws ShapeError if the summed axes differ.
Value matmul(Arg a, Arg b, const MatmulOptions& options = {});

/// Returns the inner product of two vectors of equal length, a scalar.
Value dot(Arg a, Arg b);
/// Returns the outer product of two vectors: out[i, j] = a[i] b[j].
Value outer(Arg a, Arg b);

/// Memory layout of a weight matrix.
enum class LinearLayout {
  out_in,  // [out, in], PyTorch's layout
  in_out,  // [in, out]
};
/// Affine map x W^T + bias: x [..., in] -> [..., out], with an optional bias [out].
Value linear(Arg x, Arg weight, OptionalArg bias = {}, LinearLayout layout = LinearLayout::out_in);

/// Einstein summation over any number of operands, for example "bhqd,bhkd->bhqk". Labels are
/// letters. If a label is repeated within an operand, the diagonal is used. Labels that are not in
/// the output are summed. "..." matches any number of axes, which are aligned from the right and
/// broadcast (also from size 1). Without "->" the output has the "..." axes, followed by the labels
/// that occur once, in alphabetical order. Throws ArgumentError for an ill-formed equation and
/// ShapeError if an operand does not match it.
///
/// Operands are contracted from left to right with matmul. A contraction costs 2 floating-point
/// operations per combination of values of its labels, and additionally a copy of each operand
/// whose labels are not in the order of a matrix product or of its transpose. Intermediate results
/// are materialised, so order the operands to keep the intermediate results small.
Value einsum(std::string_view equation, const std::vector<Value>& operands,
             SourceLocation loc = SourceLocation::current());

}  // namespace weft
