// Linear algebra: matmul, einsum and what is made of them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

// All take f32 or f64 operands of equal dtype, are differentiable, and have the same bits for any
// number of threads.

struct MatmulOptions {
  /// The last two axes of the operand are swapped in memory: nothing is transposed for it.
  bool transpose_a = false;
  bool transpose_b = false;
  /// Accuracy of this product and of its gradients; that of the program where absent.
  std::optional<Precision> precision = {};
};
/// Matrix product with NumPy's rules: [..., M, K] x [..., K, N] -> [..., M, N], the axes in front
/// broadcast. A 1-D operand is a row (a) or a column (b), its axis does not appear in the result,
/// and its transpose flag means nothing. K = 0 gives zeros. 2 M N K floating-point operations per
/// matrix; what follows elementwise is done while the product is made. Throws ShapeError where the
/// summed axes differ.
Value matmul(Arg a, Arg b, const MatmulOptions& options = {});

/// Inner product of two vectors of equal length: a scalar.
Value dot(Arg a, Arg b);
/// a_i b_j of two vectors.
Value outer(Arg a, Arg b);

/// How a weight matrix lies in memory.
enum class LinearLayout {
  out_in,  // [out, in], as PyTorch stores it
  in_out,  // [in, out]
};
/// x W^T + bias: x [..., in] -> [..., out]; bias [out] may be absent.
Value linear(Arg x, Arg weight, OptionalArg bias = {}, LinearLayout layout = LinearLayout::out_in);

/// Einstein summation over any number of operands: "bhqd,bhkd->bhqk". Labels are letters; a label
/// repeated within an operand takes its diagonal; labels that are not in the output are summed.
/// "..." stands for any axes, which broadcast (size 1 too) and are aligned from the right. Without
/// "->" the output is the "..." axes and then the labels that occur once, in alphabetical order.
/// Operands are contracted from left to right by matmul. Throws ArgumentError for an ill-formed
/// equation and ShapeError where an operand does not fit it. A step costs 2 floating-point
/// operations per combination of its labels' values, and a copy of an operand whose labels neither
/// stand as in a matrix product nor as in its transpose. The intermediate results of that order are
/// in memory: put what makes them small first.
Value einsum(std::string_view equation, const std::vector<Value>& operands,
             SourceLocation loc = SourceLocation::current());

}  // namespace weft
