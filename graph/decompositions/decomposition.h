// Definitions of composite ops in primitives: used for second-order gradients, as the test oracle,
// for export and for dtypes without a kernel.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Decompositions by op name. Ops of one's own bring theirs along (OpRecord::definition).
class DecompositionSet {
 public:
  void add(std::string_view op, Decomposition decomposition);
  Decomposition find(std::string_view op) const;  // null if there is none
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Decomposition, std::less<>> table_;
};

/// Weft's own decompositions.
const DecompositionSet& builtin_decompositions();

// The families, listed explicitly in builtin.cc.
void add_elementwise_decompositions(DecompositionSet& set);
void add_reduce_decompositions(DecompositionSet& set);
void add_conv_decompositions(DecompositionSet& set);
void add_softmax_decompositions(DecompositionSet& set);
void add_norm_decompositions(DecompositionSet& set);
void add_cross_entropy_decompositions(DecompositionSet& set);
void add_linear_cross_entropy_decompositions(DecompositionSet& set);
void add_attention_decompositions(DecompositionSet& set);

}  // namespace weft
