// Parameter groups, selected by name patterns or predicates.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/autodiff/optimizers/step.h"

namespace WEFT_API weft {

/// Selects the parameters of a rule: by a shell-style name pattern with * and ? ("*.bias"), or by a
/// predicate.
class ParameterFilter {
 public:
  using Predicate = std::function<bool(const Variable&)>;
  ParameterFilter(const char* pattern)  // NOLINT(google-explicit-constructor)
      : ParameterFilter(std::string(pattern)) {}
  ParameterFilter(std::string pattern);  // NOLINT(google-explicit-constructor)
  template <class Fn>
  requires std::predicate<Fn, const Variable&> ParameterFilter(Fn predicate)  // NOLINT
      : predicate_(std::move(predicate)) {}

  bool operator()(const Variable& parameter) const { return predicate_(parameter); }
  /// Description for messages: "'*.bias'", or "a predicate".
  const std::string& text() const { return text_; }

 private:
  Predicate predicate_;
  std::string text_ = "a predicate";
};

/// Settings for the parameters that `where` selects, which override the optimizer's options (see
/// ParameterGroup).
struct GroupRule {
  ParameterFilter where;
  double learning_rate_scale = 1;
  std::optional<double> weight_decay = {};
  Schedule lr = {};
};

/// Returns the groups for an optimizer call. Every parameter belongs to the group of the first rule
/// that matches it; parameters that no rule matches form a last group with default settings.
///
///   adamw(loss, group_parameters(net.parameters(), {{.where = "net.encoder.*",
///                                                    .learning_rate_scale = 0.1},
///                                                   {.where = "net.head.*", .lr = 1e-2},
///                                                   {.where = "*.bias", .weight_decay = 0}}));
///
/// Throws ArgumentError if a rule matches no parameter, or only parameters that an earlier rule
/// matches. If gradients are passed instead of a loss, they must be in the order of the groups: the
/// parameters of each rule, then the others.
ParameterGroups group_parameters(const std::vector<Variable>& parameters,
                                 const std::vector<GroupRule>& rules);

}  // namespace weft
