// Parameter count of a model.
#pragma once

#include <cstdint>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// Returns the number of distinct trainable and frozen parameters of a graph. Quantised weights are
/// counted with their number of elements before quantisation.
std::int64_t count_parameters(const Graph& graph);
/// As above, but counts only the parameters in and below `scope`. A parameter that is shared (tied)
/// counts in the scope that declares it.
std::int64_t count_parameters(const Scope& scope);

}  // namespace weft
