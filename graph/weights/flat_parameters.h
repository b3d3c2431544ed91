// All parameters of a model as one vector, in the graph and outside of it.
#pragma once

#include <initializer_list>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

class Session;

// Use these functions for algorithms that treat the parameters of a model as one vector:
// Hessian-vector products, line searches, conjugate gradients, evolution strategies.
//
//   const std::vector<Variable> all = net.parameters();  // in the order of creation
//   const Value direction = g.input("direction", DType::f32, {"n"});
//   const Value gradient = flatten_parameters(gradients(loss, all));      // f32 [n]
//   const Value curvature = flatten_parameters(hessian_vector_product(    // f32 [n]
//       loss, {all.begin(), all.end()}, unflatten_parameters(direction, all)));
//
// The elements are those of the first parameter in row-major order, then those of the second, and
// so on. A scalar has one element, and a parameter with an axis of size 0 has no elements. If all
// parameters have the same dtype, the vector has this dtype; otherwise, it is f64 if any parameter
// is f64, and f32 if not. All functions throw ArgumentError if the list is empty or a parameter is
// undefined, and DTypeError, with the name, for a parameter that is not of a floating-point dtype.

/// Returns the elements of all parameters, or of other values such as their gradients, as one
/// vector [n]. Differentiable. Costs one copy of the elements.
Value flatten_parameters(const std::vector<Variable>& parameters,
                         SourceLocation loc = SourceLocation::current());
Value flatten_parameters(const std::vector<Value>& values,
                         SourceLocation loc = SourceLocation::current());
/// Overloads for braced lists: flatten_parameters({weight, bias}).
Value flatten_parameters(std::initializer_list<Variable> parameters,
                         SourceLocation loc = SourceLocation::current());
Value flatten_parameters(std::initializer_list<Value> values,
                         SourceLocation loc = SourceLocation::current());

/// Returns the parts of `vector` [n] that belong to each parameter, with the shape and dtype of the
/// parameter. The inverse of flatten_parameters(), up to rounding if the dtypes differ.
/// Differentiable. Throws ShapeError unless `vector` has one axis of size n, or of symbolic size,
/// which must be n when the program runs, and DTypeError unless its dtype is floating-point.
std::vector<Value> unflatten_parameters(Value vector, const std::vector<Variable>& parameters,
                                        SourceLocation loc = SourceLocation::current());

/// Returns the current values of the parameters as one vector [n]. Parameters without a value are
/// initialised. Throws GraphError if a parameter belongs to another graph than the Session.
Tensor flat_parameters(Session& session, const std::vector<Variable>& parameters,
                       SourceLocation loc = SourceLocation::current());

/// Sets all parameters to the parts of `vector`, which has n elements of any floating-point dtype
/// and is rounded once to the dtype of each parameter. All values change together, between two
/// runs. Throws ShapeError for another size and DTypeError for another dtype; nothing is written in
/// this case.
void set_flat_parameters(Session& session, const std::vector<Variable>& parameters,
                         const Tensor& vector, SourceLocation loc = SourceLocation::current());

}  // namespace weft
