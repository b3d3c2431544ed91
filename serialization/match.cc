#include "weft/serialization/match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/weights/matrices.h"

namespace weft {
namespace {

bool fits(const VariableInfo& info, const Tensor& t) {
  if (t.dtype() != info.type.dtype || t.rank() != info.type.shape.rank()) return false;
  for (int i = 0; i < t.rank(); ++i) {
    const Dim& d = info.type.shape[i];
    if (d.is_constant() && d.constant() != t.size(i)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> LoadReport::anew() const {
  std::vector<std::string> all = missing;
  all.insert(all.end(), reinitialised.begin(), reinitialised.end());
  return all;
}

std::string LoadReport::str() const {
  std::string text = fmt::format("{} parameters taken over", loaded.size());
  const std::vector<std::string> fresh = anew();
  if (!fresh.empty()) text += fmt::format("; {} new: {}", fresh.size(), first_of(fresh));
  if (!unexpected.empty())
    text += fmt::format("; {} not used: {}", unexpected.size(), first_of(unexpected));
  return text;
}

Match find_matches(const std::vector<Variable>& variables, const TensorMap& tensors,
                   const MatchOptions& options) {
  Match match;
  std::set<std::string, std::less<>> used;
  for (const Variable& v : variables) {
    const VariableInfo& info = v.info();
    std::vector<std::string> names = {info.name};
    names.insert(names.end(), info.aliases.begin(), info.aliases.end());
    if (options.rename) std::transform(names.begin(), names.end(), names.begin(), options.rename);
    const bool reinit = matches_any(options.reinit, info.name);
    Tensor found;
    for (const std::string& name : names) {
      const auto it = tensors.find(name);
      if (it == tensors.end()) continue;
      used.insert(name);
      const Tensor tensor = options.widen && is_floating(it->second.dtype())
                                ? it->second.to(info.type.dtype)
                                : it->second;
      if (!reinit && !fits(info, tensor)) {
        match.problems.push_back(fmt::format("misshapen: '{}' is {}, the variable {}", name,
                                             it->second.type_str(), info.type.str()));
      } else if (!reinit && found.defined() && !bitwise_equal(found, tensor)) {
        match.problems.push_back(
            fmt::format("contradiction: '{}' and '{}' are one variable, but their values differ",
                        names.front(), name));
      }
      if (!found.defined()) found = tensor;
    }
    if (!found.defined()) {
      match.report.missing.push_back(info.name);
      if (!options.allow_missing && !reinit)
        match.problems.push_back(fmt::format("missing: '{}' {}", names.front(), info.type.str()));
    } else if (reinit) {
      match.report.reinitialised.push_back(info.name);
    } else {
      match.report.loaded.push_back(info.name);
      match.pairs.emplace_back(v, found);
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (used.contains(name) || (options.ignore && options.ignore(name))) continue;
    match.report.unexpected.push_back(name);
    if (!options.allow_unexpected)
      match.problems.push_back(fmt::format("unexpected: '{}' {}", name, tensor.type_str()));
  }
  return match;
}

std::vector<std::pair<Variable, Tensor>> match_variables(const std::vector<Variable>& variables,
                                                         const TensorMap& tensors,
                                                         std::string_view source,
                                                         const MatchOptions& options,
                                                         std::string_view wanted) {
  Match match = find_matches(variables, tensors, options);
  if (!match.problems.empty()) {
    throw FormatError(fmt::format("the tensors of {} do not fit {}:\n  {}", source, wanted,
                                  fmt::join(match.problems, "\n  ")));
  }
  return std::move(match.pairs);
}

std::vector<Variable> weight_variables(const Graph& graph) {
  std::vector<Variable> weights;
  for (const Variable& v : graph.variables()) {
    const VariableKind kind = v.info().kind;
    if (kind == VariableKind::parameter || kind == VariableKind::buffer) weights.push_back(v);
  }
  return weights;
}

std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 8;
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxNames));
  return fmt::format(
      "{}{}", fmt::join(names.begin(), end, ", "),
      names.size() > kMaxNames ? fmt::format(" and {} more", names.size() - kMaxNames) : "");
}

}  // namespace weft
