// Parameter count of a model.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// Returns the number of distinct trainable and frozen parameters of a graph. Quantised weights are
/// counted with their number of elements before quantisation.
std::int64_t count_parameters(const Graph& graph);
/// As above, but counts only the parameters in and below `scope`. A parameter that is shared (tied)
/// counts in the scope that declares it.
std::int64_t count_parameters(const Scope& scope);

/// Returns the number of parameters of the program's graph that contribute to the result for one
/// token, of `tokens` tokens in a run: if grouped_matmul multiplies k rows per token by a stack of
/// E matrices, as in a mixture of experts, only k / E of this stack are counted. `tokens` may
/// contain symbols: batch * seq. 0 for an empty program.
std::int64_t count_active_parameters(const Program& program, const Dim& tokens);
/// As above, for a program with several numbers of tokens, such as those of the encoder and of the
/// decoder.
std::int64_t count_active_parameters(const Program& program, const std::vector<Dim>& tokens);

}  // namespace weft
