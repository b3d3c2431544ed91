#include "weft/autodiff/rule.h"

#include <utility>

namespace weft {

void RuleSet::add(std::string_view op, GradientRule rule) {
  table_.insert_or_assign(std::string(op), std::move(rule));
}

GradientRule RuleSet::find(std::string_view op) const {
  const auto it = table_.find(op);
  return it == table_.end() ? nullptr : it->second;
}

std::vector<std::string> RuleSet::names() const {
  std::vector<std::string> result;
  for (const auto& entry : table_) result.push_back(entry.first);
  return result;
}

const RuleSet& builtin_rules() {
  static const RuleSet set = [] {
    RuleSet s;
    add_leaf_rules(s);
    add_unary_rules(s);
    add_binary_rules(s);
    add_cast_rules(s);
    add_reduce_rules(s);
    add_shape_rules(s);
    add_index_rules(s);
    add_sort_rules(s);
    add_matmul_rules(s);
    add_conv_rules(s);
    add_pool_rules(s);
    add_random_rules(s);
    add_softmax_rules(s);
    add_norm_rules(s);
    add_cross_entropy_rules(s);
    add_linear_cross_entropy_rules(s);
    add_attention_rules(s);
    add_rope_rules(s);
    add_cholesky_rules(s);
    add_triangular_solve_rules(s);
    add_qr_rules(s);
    add_svd_rules(s);
    add_collective_rules(s);
    return s;
  }();
  return set;
}

}  // namespace weft
