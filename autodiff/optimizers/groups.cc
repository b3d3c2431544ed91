#include "weft/autodiff/optimizers/groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/weights/matrices.h"

namespace weft {

ParameterFilter::ParameterFilter(std::string pattern)
    : predicate_([pattern](const Variable& v) { return matches(pattern, v.name()); }),
      text_(fmt::format("'{}'", pattern)) {}

ParameterGroups group_parameters(const std::vector<Variable>& parameters,
                                 const std::vector<GroupRule>& rules) {
  std::vector<ParameterGroup> groups;
  for (const GroupRule& rule : rules) {
    groups.push_back({.learning_rate_scale = rule.learning_rate_scale,
                      .weight_decay = rule.weight_decay,
                      .lr = rule.lr});
  }
  groups.emplace_back();
  for (const Variable& parameter : parameters) {
    if (!parameter.defined()) throw ArgumentError("group_parameters: a parameter is undefined");
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const GroupRule& r) { return r.where(parameter); });
    groups[static_cast<std::size_t>(rule - rules.begin())].parameters.push_back(parameter);
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!groups[i].parameters.empty()) continue;
    const bool fits = std::any_of(parameters.begin(), parameters.end(), rules[i].where);
    throw ArgumentError(fmt::format(
        "group_parameters: rule {}, {}, {}", i, rules[i].where.text(),
        fits ? "matches only parameters that an earlier rule matches: move it before that rule"
             : fmt::format("matches none of the {} parameters{}", parameters.size(),
                           parameters.empty() ? ""
                                              : fmt::format(", the first of which is '{}'",
                                                            parameters[0].name()))));
  }
  if (groups.back().parameters.empty() && groups.size() > 1) groups.pop_back();
  return groups;
}

}  // namespace weft
