// Gradients of loops and branches: graphs of the same kind over bodies that are differentiated.
#pragma once

#include <functional>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace weft {

/// Differentiates inside a graph: what flows into each of `wrt` (undefined where nothing does) when
/// `cotangents` flow into `outputs`.
using DifferentiateBody = std::function<std::vector<Value>(
    Graph& graph, const std::vector<Value>& outputs, const std::vector<Value>& cotangents,
    const std::vector<Value>& wrt)>;

/// Gradients of a scan, cond or while_loop: one Value per input of `node`, undefined where nothing
/// flows or `needed` is false. `cotangents` may be undefined.
///
/// A scan's gradient is two scans: the same loop once more with the values that its derivative
/// needs as further outputs (a pass makes the two loops one), and a loop in the other direction
/// over the cotangents. Values that can be had from sequences and operands alone are computed again
/// there instead of kept; so is all but the carries where the scan says `recompute`. A cond's is a
/// cond over the differentiated branches. A while_loop has none (GradientError).
std::vector<Value> control_gradient(Node& node, const std::vector<Value>& cotangents,
                                    const std::vector<bool>& needed,
                                    const DifferentiateBody& differentiate);

}  // namespace weft
