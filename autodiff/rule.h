// Gradient rules: one small function per op that builds the nodes of the gradient. Rules work on
// the graph only and never read tensor values. Definitions of composite ops in terms of simpler ops
// are used for gradients (of any order) and as a test oracle.
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

/// Gradient rules and definitions by op name. A definition expresses an op in simpler ops; an op
/// without a rule is differentiated through its definition. To override those of built-in ops,
/// change a copy of builtin_rules(). Custom ops use OpRecord::rule and OpRecord::definition
/// instead.
class RuleSet {
 public:
  /// Adds or replaces the rule of an op.
  void add(std::string_view op, GradientRule rule);
  /// Adds or replaces the definition of an op.
  void define(std::string_view op, Decomposition definition);
  /// Returns the rule of an op, or null.
  GradientRule find(std::string_view op) const;
  /// Returns the definition of an op, or null.
  Decomposition definition(std::string_view op) const;
  /// Returns the names of all ops that have a rule or a definition, sorted.
  std::vector<std::string> names() const;

 private:
  struct Entry {
    GradientRule rule;
    Decomposition definition;
  };
  std::map<std::string, Entry, std::less<>> table_;
};

/// Returns the rules and definitions of the built-in ops, which are in autodiff/rules/.
const RuleSet& builtin_rules();

}  // namespace weft
