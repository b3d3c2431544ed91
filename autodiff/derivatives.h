// Derivatives in other shapes than gradients: products with Jacobians, Jacobians, Hessians.
#pragma once

#include <vector>

#include "weft/autodiff/gradients.h"

namespace WEFT_API weft {

// All are values of the graph like any others: they can be used, saved and differentiated again.
// Errors are those of gradients(); a value on which `output` does not depend is an error there,
// too.

/// cotangent^T J: the gradients of sum(output * cotangent) with respect to each of `wrt`.
/// `cotangent` has the type of `output`. Costs a few times what `output` costs.
std::vector<Value> vjp(Value output, const std::vector<Value>& wrt, Value cotangent,
                       SourceLocation loc = SourceLocation::current());

/// J tangents: how `output` changes when each of `wrt` moves along its tangent (of its type). Has
/// the type of `output`. Reverse mode twice: vjp is linear in its cotangent, and its derivative by
/// it is this product (Townsend, "A new trick for calculating Jacobian vector products", 2017);
/// what only the first pass needs is dropped before the program runs.
Value jvp(Value output, const std::vector<Value>& wrt, const std::vector<Value>& tangents,
          SourceLocation loc = SourceLocation::current());

/// All derivatives of `output` by `wrt`: [sizes of output, sizes of wrt], any sizes, symbolic too.
/// A loop over the elements of `output` with one vjp each: the cost of one gradient per element,
/// and, but for the result, the memory of one. What `output` draws is the same in all of them.
Value jacobian(Value output, Value wrt, SourceLocation loc = SourceLocation::current());

/// The second derivatives of the scalar `output`: [sizes of wrt, sizes of wrt]; zeros of one that
/// is linear in `wrt`.
Value hessian(Value output, Value wrt, SourceLocation loc = SourceLocation::current());

/// The Hessian of the scalar `output` times `direction`, of the types of `wrt` (which may be made
/// of them, as the gradient is): the gradient of <gradient, direction> for a fixed direction, for a
/// few times the cost of a gradient (Pearlmutter 1994). The Hessian is never there.
std::vector<Value> hessian_vector_product(Value output, const std::vector<Value>& wrt,
                                          const std::vector<Value>& direction,
                                          SourceLocation loc = SourceLocation::current());

}  // namespace weft
