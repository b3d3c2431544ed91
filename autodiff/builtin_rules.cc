#include <utility>

#include "weft/autodiff/rule.h"
#include "weft/ops/builtin.h"

namespace weft {

void RuleSet::add(std::string_view op, GradientRule rule) {
  table_[std::string(op)].rule = std::move(rule);
}

void RuleSet::define(std::string_view op, Decomposition definition) {
  table_[std::string(op)].definition = std::move(definition);
}

GradientRule RuleSet::find(std::string_view op) const {
  const auto it = table_.find(op);
  return it == table_.end() ? nullptr : it->second.rule;
}

Decomposition RuleSet::definition(std::string_view op) const {
  const auto it = table_.find(op);
  return it == table_.end() ? nullptr : it->second.definition;
}

std::vector<std::string> RuleSet::names() const {
  std::vector<std::string> result;
  for (const auto& entry : table_) result.push_back(entry.first);
  return result;
}

const RuleSet& builtin_rules() {
  static const RuleSet set = [] {
    RuleSet rules;
    BuiltinFamilies::add_to(rules);
    return rules;
  }();
  return set;
}

}  // namespace weft
