// Definitions of composite ops in terms of primitive ops. Used for second-order gradients, as a
// test oracle, for export, and for dtypes without a kernel.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Decompositions by op name. A custom op has its own decomposition in OpRecord::definition.
class DecompositionSet {
 public:
  /// Adds or replaces the decomposition of an op.
  void add(std::string_view op, Decomposition decomposition);
  /// Returns the decomposition of an op, or null.
  Decomposition find(std::string_view op) const;
  /// Returns the names of all ops that have a decomposition, sorted.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Decomposition, std::less<>> table_;
};

/// The decompositions of Weft's built-in ops.
const DecompositionSet& builtin_decompositions();

// One function per op family. builtin.cc calls all of them.
void add_elementwise_decompositions(DecompositionSet& set);
void add_reduce_decompositions(DecompositionSet& set);
void add_conv_decompositions(DecompositionSet& set);
void add_softmax_decompositions(DecompositionSet& set);
void add_norm_decompositions(DecompositionSet& set);
void add_cross_entropy_decompositions(DecompositionSet& set);
void add_linear_cross_entropy_decompositions(DecompositionSet& set);
void add_attention_decompositions(DecompositionSet& set);

}  // namespace weft
