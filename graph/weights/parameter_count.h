// How large a model is.
#pragma once

#include <cstdint>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Number of different trainable and frozen parameters of a graph. Weights in fewer bits count as
/// those that they were.
std::int64_t count_parameters(const Graph& graph);

}  // namespace weft
