// Parameter count of a model.
#pragma once

#include <cstdint>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Returns the number of distinct trainable and frozen parameters of a graph. Quantised weights are
/// counted with their number of elements before quantisation.
std::int64_t count_parameters(const Graph& graph);

}  // namespace weft
