// Attention probabilities of a model, for visualisation.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// The probabilities of one application of attention.
struct AttentionMap {
  /// Scope of the layer: "layers.0.attention", "decoder.layers.1.cross_attention".
  std::string scope;
  /// [batch, heads, queries, keys], before dropout. Rows of queries without a visible key are 0.
  /// With sinks, rows sum to less than 1. Keys in ring buffers have the order of the buffer.
  Value probabilities;
};

/// Returns a map for every attention op that `output` is computed from, in the order in which the
/// model applies them, with all biases and masks. This works for any model, built or loaded, and
/// `output` may be any of its values, e.g. its logits or its loss. The maps are new values in the
/// graph. They take O(queries * keys) memory, which the attention op itself never needs, and are
/// computed only by programs that fetch them. Causal self-attention with an additive mask
/// (SelfAttention) is built from primitives instead of the op and has no map.
std::vector<AttentionMap> attention_maps(Value output);

}  // namespace weft
