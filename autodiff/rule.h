// Gradient rules: one small function per op that builds the nodes of the gradient. Rules work on
// the graph only and never read tensor values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

/// The node that a rule differentiates, with the cotangents of its outputs.
class GradientContext {
 public:
  GradientContext(Node& node, std::vector<Value> cotangents, std::vector<bool> needed)
      : node_(node), cotangents_(std::move(cotangents)), needed_(std::move(needed)) {}

  Graph& graph() const { return node_.graph(); }
  const Attributes& attributes() const { return node_.attributes(); }
  /// Operand i; undefined if it was omitted.
  Value input(std::size_t i) const { return node_.input(i); }
  std::size_t input_count() const { return node_.inputs().size(); }
  /// Output i of the node.
  Value output(int i = 0) const { return node_.output(i); }
  int output_count() const { return node_.output_count(); }
  /// Gradient of the loss with respect to output i; undefined if the loss does not depend on output
  /// i. At least one cotangent is defined.
  Value cotangent(int i = 0) const { return cotangents_[static_cast<std::size_t>(i)]; }
  /// Returns true if the loss depends on output i.
  bool has_cotangent(int i) const { return cotangents_[static_cast<std::size_t>(i)].defined(); }
  /// Returns true if the gradient of input i is needed. Rules skip the work for other inputs.
  bool needs(std::size_t i) const { return i < needed_.size() && needed_[i]; }
  /// Precision that the node requests for its matrix products, if any. Matrix products in its
  /// gradient request the same precision.
  std::optional<Precision> precision() const {
    const std::string& own = attributes().text("precision");
    return own.empty() ? std::nullopt : std::optional(parse_precision(own));
  }

 private:
  Node& node_;
  std::vector<Value> cotangents_;
  std::vector<bool> needed_;
};

/// Gradient rules by op name. Holds the rules of the built-in ops; to override some of them, copy
/// the set and change it. Custom ops define their rule in OpRecord::rule.
class RuleSet {
 public:
  /// Adds or replaces the rule of an op.
  void add(std::string_view op, GradientRule rule);
  GradientRule find(std::string_view op) const;  // null if there is none
  std::vector<std::string> names() const;

 private:
  std::map<std::string, GradientRule, std::less<>> table_;
};

/// Returns the rules of the built-in ops.
const RuleSet& builtin_rules();

// The rules of each op family, listed explicitly in builtin_rules.cc. Each file mirrors
// ops/<family>.cc.
void add_leaf_rules(RuleSet& rules);
void add_unary_rules(RuleSet& rules);
void add_binary_rules(RuleSet& rules);
void add_cast_rules(RuleSet& rules);
void add_reduce_rules(RuleSet& rules);
void add_shape_rules(RuleSet& rules);
void add_index_rules(RuleSet& rules);
void add_sort_rules(RuleSet& rules);
void add_matmul_rules(RuleSet& rules);
void add_conv_rules(RuleSet& rules);
void add_pool_rules(RuleSet& rules);
void add_random_rules(RuleSet& rules);
void add_softmax_rules(RuleSet& rules);
void add_norm_rules(RuleSet& rules);
void add_cross_entropy_rules(RuleSet& rules);
void add_linear_cross_entropy_rules(RuleSet& rules);
void add_attention_rules(RuleSet& rules);
void add_rope_rules(RuleSet& rules);
void add_cholesky_rules(RuleSet& rules);
void add_triangular_solve_rules(RuleSet& rules);
void add_qr_rules(RuleSet& rules);
void add_svd_rules(RuleSet& rules);
void add_collective_rules(RuleSet& rules);

}  // namespace weft
