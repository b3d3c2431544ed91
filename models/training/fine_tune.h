// Fine-tuning options for any model: frozen parameters, and lower learning rates for lower layers.
// Patterns are names with the shell wildcards * and ?, for example "layers.0.*" or "*.bias".
#pragma once

#include <string>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Freezes the parameters that match any of the patterns. Must be called before the training step
/// is added. Returns the names of the parameters that were trainable before the call. Throws an
/// ArgumentError that lists existing names if a pattern matches no parameter.
std::vector<std::string> freeze(Graph& graph, const std::vector<std::string>& patterns);

/// Layer-wise learning rates (Howard and Ruder 2018): returns the trainable parameters of the
/// graph, grouped by layer. With n layers, numbered from 0, the learning rate is multiplied by
///   1              for parameters above the layers,
///   decay^(n - i)  for layer i,
///   decay^(n + 1)  for embeddings and other parameters below the layers.
/// The layer number is the first number in a parameter name ("layers.3.norm.weight",
/// "transformer.h.3.ln_1.bias"). Parameters without a number are below the layers if they were
/// declared before the first layer, else above. Layers with the same number in different stacks
/// (encoder.layers.0 and decoder.layers.0) share a learning rate. With `decay` = 1, all parameters
/// have the same learning rate. Throws ArgumentError unless `decay` is in (0, 1].
std::vector<ParameterGroup> learning_rate_groups(const Graph& graph, double decay);

/// Options for training that starts from trained weights.
struct FineTuneOptions {
  std::vector<std::string> freeze = {};  // patterns of parameters to freeze
  double layer_lr_decay = 1;             // decay factor; see learning_rate_groups()
};

}  // namespace weft
