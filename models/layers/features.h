// Checks of a layer's operand: it must be floating-point, and the size of its feature axis must be
// known.
#pragma once

#include <string_view>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// Returns the size of the last axis of `x`. Throws GraphError if x belongs to another graph,
/// DTypeError if x is not floating-point, and ShapeError if x is a scalar or the size is a symbol
/// (the size of a layer's weights must be known). Messages name `layer` and the caller's line.
std::int64_t last_axis_size(const Scope& scope, Value x, std::string_view layer,
                            SourceLocation loc);

/// As above, for the channels: axis 1 of x [N, C, ...], which must be followed by `spatial` axes
/// (-1: any number).
std::int64_t channel_count(const Scope& scope, Value x, int spatial, std::string_view layer,
                           SourceLocation loc);

}  // namespace weft
