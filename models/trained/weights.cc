#include "weft/models/trained/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"
#include "weft/graph/weights/matrices.h"

namespace weft {
namespace {

bool is_weight(const VariableInfo& info) {
  return info.kind == VariableKind::parameter || info.kind == VariableKind::buffer;
}

/// "12 parameters: a, b, ..." with not more than a few names.
std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> some(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost)));
  return fmt::format("{}{}", fmt::join(some, ", "),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

bool any_matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

}  // namespace

TensorMap weights_of(const Graph& graph, const VariableStore& store) {
  TensorMap weights;
  for (const Variable& variable : graph.variables()) {
    if (is_weight(variable.info()) && store.contains(variable.name()))
      weights[variable.name()] = store.tensor(variable.name());
  }
  return weights;
}

std::string LoadReport::str() const {
  std::string text = fmt::format("{} parameters taken over", loaded.size());
  if (!missing.empty()) text += fmt::format("; {} new: {}", missing.size(), list(missing));
  if (!unexpected.empty())
    text += fmt::format("; {} not used: {}", unexpected.size(), list(unexpected));
  return text;
}

LoadReport load_weights(VariableStore& store, const Graph& graph, const TensorMap& weights,
                        std::string_view source, const std::vector<std::string>& reinit) {
  LoadReport report;
  std::vector<std::string> misfits;
  std::vector<std::pair<VariableInfo, Tensor>> found;
  std::set<std::string_view> used;
  for (const Variable& variable : graph.variables()) {
    const VariableInfo& info = variable.info();
    if (!is_weight(info)) continue;
    auto it = any_matches(reinit, info.name) ? weights.end() : weights.find(info.name);
    for (std::size_t i = 0;
         it == weights.end() && i < info.aliases.size() && !any_matches(reinit, info.name); ++i)
      it = weights.find(info.aliases[i]);
    if (it == weights.end()) {
      report.missing.push_back(info.name);
      continue;
    }
    used.insert(it->first);
    Sizes sizes;
    for (int axis = 0; axis < info.type.shape.rank(); ++axis)
      sizes.push_back(info.type.shape[axis].is_constant() ? info.type.shape[axis].constant() : -1);
    if (it->second.dtype() != info.type.dtype || it->second.sizes() != sizes) {
      misfits.push_back(fmt::format("{} is {} in the model, {} in the file", info.name,
                                    info.type.str(), it->second.type_str()));
      continue;
    }
    report.loaded.push_back(info.name);
    found.emplace_back(info, it->second);
  }
  if (!misfits.empty()) {
    throw FormatError(
        fmt::format("{} does not fit the model: {}", source, fmt::join(misfits, "; ")));
  }
  if (found.empty()) {
    throw FormatError(fmt::format("{} has no parameter of this model; it holds {}", source, [&] {
      std::vector<std::string> names;
      for (const auto& [name, tensor] : weights) names.push_back(name);
      return names.empty() ? "nothing" : list(names);
    }()));
  }
  for (const auto& [name, tensor] : weights) {
    if (!used.contains(name)) report.unexpected.push_back(name);
  }
  for (const auto& [info, tensor] : found) store.insert(info.name, info.kind, tensor);
  store.start_anew(report.missing);
  return report;
}

}  // namespace weft
