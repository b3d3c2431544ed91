// Derivatives other than gradients: Jacobian and Hessian products, Jacobians, Hessians.
#pragma once

#include <vector>

#include "weft/autodiff/gradients.h"

namespace WEFT_API weft {

// The results are ordinary values of the graph: they can be used, saved and differentiated again.
// All functions throw the same errors as gradients(). It is also an error if `output` does not
// depend on a value of `wrt`.

/// Returns the vector-Jacobian product cotangent^T J: the gradients of sum(output * cotangent) with
/// respect to each of `wrt`. `cotangent` has the type of `output`. Costs a small multiple of
/// computing `output`.
std::vector<Value> vjp(Value output, const std::vector<Value>& wrt, Value cotangent,
                       SourceLocation loc = SourceLocation::current());

/// Returns the Jacobian-vector product J tangents: the rate of change of `output` when each of
/// `wrt` moves along its tangent, which has the same type. The result has the type of `output`.
/// Applies reverse mode twice: vjp is linear in its cotangent, and its derivative with respect to
/// the cotangent is this product (Townsend, "A new trick for calculating Jacobian vector products",
/// 2017). Nodes that only the first pass needs are eliminated before the program runs.
Value jvp(Value output, const std::vector<Value>& wrt, const std::vector<Value>& tangents,
          SourceLocation loc = SourceLocation::current());

/// Returns all derivatives of `output` with respect to `wrt`. The shape of the result is the shape
/// of `output` followed by the shape of `wrt`; sizes may be symbolic. Loops over the elements of
/// `output` and computes one vjp for each. This takes the time of one gradient per element and,
/// apart from the result, the memory of a single gradient. All iterations use the same random
/// numbers.
Value jacobian(Value output, Value wrt, SourceLocation loc = SourceLocation::current());

/// Returns the second derivatives of the scalar `output`, of shape [sizes of wrt, sizes of wrt];
/// zeros if `output` is linear in `wrt`.
Value hessian(Value output, Value wrt, SourceLocation loc = SourceLocation::current());

/// Returns the product of the Hessian of the scalar `output` and `direction`, a list of values with
/// the same types as `wrt`. The product is the gradient of <gradient, direction> with `direction`
/// held constant, even if `direction` depends on `wrt` (as the gradient itself does). Costs a small
/// multiple of a gradient (Pearlmutter 1994); the Hessian is never materialised.
std::vector<Value> hessian_vector_product(Value output, const std::vector<Value>& wrt,
                                          const std::vector<Value>& direction,
                                          SourceLocation loc = SourceLocation::current());

}  // namespace weft
