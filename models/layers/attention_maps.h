// What attention looks at, for people to see.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// The probabilities of one application of attention.
struct AttentionMap {
  std::string scope;    // the layer's: "layers.0.attention", "decoder.layers.1.cross_attention"
  Value probabilities;  // [batch, heads, queries, keys], before dropout; rows of queries that see
                        // no key are 0
};

/// A map for every attention op that `output` is computed from, in the order in which the model
/// applies them: of any model, built or loaded, with all its biases and masks. They are new values
/// beside the model's own, O(queries * keys) in memory, which the attention op itself never needs;
/// what does not fetch them does not compute them. `output` may be any value of a model: its logits
/// or its loss. Causal self-attention with an additive mask (SelfAttention) is made of primitives,
/// not of the op, and has no map.
std::vector<AttentionMap> attention_maps(Value output);

}  // namespace weft
