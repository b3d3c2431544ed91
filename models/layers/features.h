// What layers ask of their operand: a floating tensor whose last axis has a known size.
#pragma once

#include <string_view>

#include "weft/graph/ir/scope.h"

namespace weft {

/// Size of the last axis of `x`. Throws GraphError for a value of another graph, DTypeError where x
/// is not floating, ShapeError where it is a scalar or the size is a symbol (a layer must know the
/// size of its weights); messages name `layer` and the user's line.
std::int64_t last_axis_size(const Scope& scope, Value x, std::string_view layer,
                            SourceLocation loc);

}  // namespace weft
