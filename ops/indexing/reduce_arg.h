// argmax, argmin and cumsum, which are the ops of the reduce family that work along a single axis.
#pragma once

#include <string_view>

#include "weft/ops/op.h"

namespace weft {

/// Adds argmax, argmin and cumsum. Called by ReduceOps::add.
void add_arg_reduce_ops(OpSet& ops);

/// Throws the ShapeError for a maximum or minimum over an axis of size 0.
[[noreturn]] void throw_empty_extreme(std::string_view op, std::int64_t axis);

/// Throws DTypeError unless the dtype of input 0 is f32, f64 or an integer.
void require_numeric(const InferContext& c);

}  // namespace weft
