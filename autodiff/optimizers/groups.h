// Groups of parameters by what they are called or look like.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/autodiff/optimizers/step.h"

namespace WEFT_API weft {

/// Which parameters a rule is for: those whose name fits a pattern with * and ? as in a shell
/// ("*.bias"), or those that a predicate says.
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
  /// "'*.bias'", or "a predicate".
  const std::string& text() const { return text_; }

 private:
  Predicate predicate_;
  std::string text_ = "a predicate";
};

/// What is special about some parameters; the rest is as in the optimizer's options.
struct GroupRule {
  ParameterFilter where;
  double learning_rate_scale = 1;
  std::optional<double> weight_decay = {};
};

/// Groups for one call of an optimizer: every parameter follows the first rule that fits it;
/// parameters that none fits are a group without a rule.
///
///   adamw(loss, group_parameters(net.parameters(), {{.where = "net.encoder.*",
///                                                    .learning_rate_scale = 0.1},
///                                                   {.where = "*.bias", .weight_decay = 0}}));
///
/// Throws ArgumentError for a rule that fits no parameter, or only such as an earlier one fits.
/// Gradients in place of a loss stand in the order of the groups: one per rule, then the rest.
ParameterGroups group_parameters(const std::vector<Variable>& parameters,
                                 const std::vector<GroupRule>& rules);

}  // namespace weft
