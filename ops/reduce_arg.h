// argmax, argmin and running sums: the part of the reduce family that reduces along one axis.
#pragma once

#include <string_view>

#include "weft/ops/op.h"

namespace weft {

/// Adds argmax, argmin and cumsum. Called by add_reduce_ops.
void add_arg_reduce_ops(OpSet& ops);

/// Throws the ShapeError for a maximum or minimum over an axis without elements.
[[noreturn]] void throw_empty_extreme(std::string_view op, std::int64_t axis);

/// Throws DTypeError unless the dtype of input 0 is f32, f64 or an integer.
void require_numeric(const InferContext& c);

}  // namespace weft
