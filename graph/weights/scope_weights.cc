#include "weft/graph/weights/scope_weights.h"

#include <fmt/format.h>

#include <vector>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {
std::string scope_text(const Scope& scope) {
  return scope.path().empty() ? "the graph" : fmt::format("scope '{}'", scope.path());
}

std::map<std::string, Variable, std::less<>> scope_weights(std::string_view function,
                                                           const Scope& scope, SourceLocation loc) {
  std::map<std::string, Variable, std::less<>> result;
  std::vector<std::string> others;
  const std::string& path = scope.path();
  const std::string below = path + ".";
  for (const Variable& v : scope.graph().variables()) {
    const VariableKind kind = v.info().kind;
    if (kind != VariableKind::parameter && kind != VariableKind::buffer) continue;
    if (path.empty()) {
      result.emplace(v.name(), v);
    } else if (v.name() == path) {
      result.emplace("", v);
    } else if (v.name().starts_with(below)) {
      result.emplace(v.name().substr(below.size()), v);
    } else {
      others.push_back(v.name());
    }
  }
  if (result.empty()) {
    throw ArgumentError(
        fmt::format("{}: {} has no parameters or buffers; the graph has {}: build the model before "
                    "this call, in this scope\n  at {}",
                    function, scope_text(scope), list_names(others, 8), loc.str()));
  }
  return result;
}

WeightTypes types_of(const std::map<std::string, Variable, std::less<>>& weights) {
  WeightTypes result;
  for (const auto& [name, variable] : weights) result.emplace(name, variable.value().type());
  return result;
}

void require_same_weights(std::string_view function, std::string_view from,
                          const WeightTypes& given, std::string_view to, const WeightTypes& wanted,
                          SourceLocation loc) {
  std::vector<std::string> unmatched, problems;
  for (const auto& [name, type] : given) {
    if (!wanted.contains(name)) unmatched.push_back(name);
  }
  for (const auto& [name, type] : wanted) {
    const auto found = given.find(name);
    if (found == given.end()) {
      problems.push_back(
          fmt::format("missing: '{}' {}{}", name, type.str(), did_you_mean(name, unmatched)));
    } else if (found->second.dtype != type.dtype || found->second.shape != type.shape) {
      problems.push_back(fmt::format("another type: '{}' is {}, but must be {}", name,
                                     found->second.str(), type.str()));
    }
  }
  for (const std::string& name : unmatched)
    problems.push_back(fmt::format("unexpected: '{}' {}", name, given.find(name)->second.str()));
  if (problems.empty()) return;
  std::string text;
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < problems.size() && i < kMost; ++i) text += "\n  " + problems[i];
  if (problems.size() > kMost)
    text += fmt::format("\n  and {} more problems", problems.size() - kMost);
  throw ArgumentError(fmt::format("{}: the weights of {} do not match those of {}:{}\n  at {}",
                                  function, from, to, text, loc.str()));
}

}  // namespace weft
