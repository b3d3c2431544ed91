// Fine-tuning of any model: keep some of its weights, let the lower layers learn slower. Patterns
// are names with * and ? as in a shell: "layers.0.*", "*.bias".
#pragma once

#include <string>
#include <vector>

#include "weft/autodiff/optimizer.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Makes the parameters that match a pattern constant: to be called before the training step is
/// added. Returns their names. A pattern that matches none is an ArgumentError that says what names
/// there are.
std::vector<std::string> freeze(Graph& graph, const std::vector<std::string>& patterns);

/// Layer-wise learning rates (Howard and Ruder 2018): the trainable parameters of the graph in one
/// group per layer. What stands above the layers learns at the full rate, layer i of n at
/// decay^(n - i), embeddings and whatever else stands below at decay^(n + 1). A layer is known by
/// the first number in its name ("layers.3.norm.weight", "transformer.h.3.ln_1.bias"); of those
/// without one, the names that were declared before the first layer stand below. Stacks are counted
/// side by side: encoder.layers.0 and decoder.layers.0 learn at one rate. `decay` is in (0, 1]
/// (ArgumentError), 1 is one rate for all.
std::vector<ParameterGroup> learning_rate_groups(const Graph& graph, double decay);

/// How a model that starts from trained weights learns.
struct FineTuneOptions {
  std::vector<std::string> freeze = {};  // patterns of parameters that stay as they are
  double layer_lr_decay = 1;             // learning_rate_groups() says more
};

}  // namespace weft
