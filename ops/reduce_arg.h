// Reductions to a position, and running sums: the other half of the reduce family.
#pragma once

#include <string_view>

#include "weft/ops/op.h"

namespace weft {

/// argmax, argmin, cumsum. Called by add_reduce_ops.
void add_arg_reduce_ops(OpSet& ops);

/// Throws the ShapeError for an extreme over an axis without elements.
[[noreturn]] void throw_empty_extreme(std::string_view op, std::int64_t axis);

/// Throws DTypeError unless input 0 is f32, f64 or of an integer dtype.
void require_numeric(const InferContext& c);

}  // namespace weft
