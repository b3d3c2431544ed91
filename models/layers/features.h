// What layers ask of their operand: a floating tensor whose axis of features has a known size.
#pragma once

#include <string_view>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// Size of the last axis of `x`. Throws GraphError for a value of another graph, DTypeError where x
/// is not floating, ShapeError where it is a scalar or the size is a symbol (a layer must know the
/// size of its weights); messages name `layer` and the user's line.
std::int64_t last_axis_size(const Scope& scope, Value x, std::string_view layer,
                            SourceLocation loc);

/// The same for the channels, axis 1 of x [N, C, ...], which has `spatial` axes behind it (-1: any
/// number of them).
std::int64_t channel_count(const Scope& scope, Value x, int spatial, std::string_view layer,
                           SourceLocation loc);

}  // namespace weft
