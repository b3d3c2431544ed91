#include "weft/graph/decompositions/decomposition.h"

#include <utility>

namespace weft {

void DecompositionSet::add(std::string_view op, Decomposition decomposition) {
  table_.insert_or_assign(std::string(op), std::move(decomposition));
}

Decomposition DecompositionSet::find(std::string_view op) const {
  const auto it = table_.find(op);
  return it == table_.end() ? nullptr : it->second;
}

std::vector<std::string> DecompositionSet::names() const {
  std::vector<std::string> result;
  for (const auto& entry : table_) result.push_back(entry.first);
  return result;
}

const DecompositionSet& builtin_decompositions() {
  static const DecompositionSet set = [] {
    DecompositionSet s;
    add_elementwise_decompositions(s);
    add_reduce_decompositions(s);
    add_conv_decompositions(s);
    add_softmax_decompositions(s);
    add_norm_decompositions(s);
    add_cross_entropy_decompositions(s);
    add_linear_cross_entropy_decompositions(s);
    add_attention_decompositions(s);
    return s;
  }();
  return set;
}

}  // namespace weft
