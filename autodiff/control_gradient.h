// Gradients of loops and branches: the same control-flow ops over differentiated bodies.
#pragma once

#include <functional>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace weft {

/// Differentiates inside the graph of a body. Returns the gradient with respect to each of `wrt`,
/// given the `cotangents` of `outputs`. Gradients of values that `outputs` do not depend on are
/// undefined.
using DifferentiateBody = std::function<std::vector<Value>(
    Graph& graph, const std::vector<Value>& outputs, const std::vector<Value>& cotangents,
    const std::vector<Value>& wrt)>;

/// Returns the gradients of a scan, cond or while_loop: one Value per input of `node`, undefined if
/// no gradient reaches the input or its entry in `needed` is false. `cotangents` may be undefined.
///
/// The gradient of a scan consists of two scans. The first repeats the forward loop and adds the
/// residuals (forward values that the derivative needs) as outputs; an optimisation pass merges it
/// with the original loop. The second runs in the opposite direction over the cotangents. Residuals
/// that are cheap to compute from sequences and operands alone are recomputed in the backward loop
/// instead of stored. If the scan sets `recompute`, only the carries are stored. The gradient of a
/// cond is a cond over the differentiated branches. A while_loop has no gradient and throws
/// GradientError.
std::vector<Value> control_gradient(Node& node, const std::vector<Value>& cotangents,
                                    const std::vector<bool>& needed,
                                    const DifferentiateBody& differentiate);

}  // namespace weft
