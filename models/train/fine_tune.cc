#include "weft/models/train/fine_tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"
#include "weft/graph/weights/matrices.h"
#include "weft/models/train/pretrained_folder.h"

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

/// The first number between dots.
std::optional<std::int64_t> layer_number(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc() && end == part.data() + part.size() && !part.empty() && number >= 0)
      return number;
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return std::nullopt;
}

bool any_matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

}  // namespace

TensorMap pretrained_parameters(const std::string& path) {
  if (std::filesystem::is_directory(path)) return read_pretrained_folder(path).parameters;
  const Checkpoint checkpoint = load_checkpoint(path, {.verify = true});
  return weights_of(checkpoint.graph(), *checkpoint.store());
}

std::string StartReport::str() const {
  std::string text = fmt::format("{} parameters taken over", taken.size());
  if (!fresh.empty()) text += fmt::format("; {} new: {}", fresh.size(), list(fresh));
  if (!unused.empty()) text += fmt::format("; {} not used: {}", unused.size(), list(unused));
  return text;
}

StartReport start_from(VariableStore& store, const Graph& graph, const TensorMap& weights,
                       std::string_view source, const std::vector<std::string>& anew) {
  StartReport report;
  std::vector<std::string> misfits;
  std::vector<std::pair<VariableInfo, Tensor>> found;
  std::set<std::string_view> used;
  for (const Variable& variable : graph.variables()) {
    const VariableInfo& info = variable.info();
    if (!is_weight(info)) continue;
    auto it = any_matches(anew, info.name) ? weights.end() : weights.find(info.name);
    for (std::size_t i = 0;
         it == weights.end() && i < info.aliases.size() && !any_matches(anew, info.name); ++i)
      it = weights.find(info.aliases[i]);
    if (it == weights.end()) {
      report.fresh.push_back(info.name);
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
    report.taken.push_back(info.name);
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
    if (!used.contains(name)) report.unused.push_back(name);
  }
  for (const auto& [info, tensor] : found) store.insert(info.name, info.kind, tensor);
  store.start_anew(report.fresh);
  return report;
}

std::vector<std::string> freeze(Graph& graph, const std::vector<std::string>& patterns) {
  std::vector<std::string> frozen;
  for (const std::string& pattern : patterns) {
    bool any = false;
    std::vector<std::string> names;
    for (const Variable& variable : graph.variables()) {
      if (variable.info().kind != VariableKind::parameter) continue;
      names.push_back(variable.name());
      if (!matches(pattern, variable.name())) continue;
      any = true;
      if (!variable.info().trainable) continue;
      graph.set_trainable(variable, false);
      frozen.push_back(variable.name());
    }
    if (!any) {
      throw ArgumentError(
          fmt::format("no parameter matches '{}': there are {}", pattern, list(names)));
    }
  }
  return frozen;
}

std::vector<ParameterGroup> layer_groups(const Graph& graph, double decay) {
  if (!(decay > 0 && decay <= 1))
    throw ArgumentError(fmt::format("layer_lr_decay must be in (0, 1], not {}", decay));
  const std::vector<Variable> parameters = graph.parameters();
  std::int64_t layers = 0;
  for (const Variable& parameter : parameters)
    layers = std::max(layers, layer_number(parameter.name()).value_or(-1) + 1);
  std::map<std::int64_t, ParameterGroup> groups;  // by height: 0 is below all layers
  bool layer_seen = false;
  for (const Variable& parameter : parameters) {
    const auto layer = layer_number(parameter.name());
    layer_seen |= layer.has_value();
    const std::int64_t height = layer ? *layer + 1 : layer_seen || layers == 0 ? layers + 1 : 0;
    ParameterGroup& group = groups[height];
    group.parameters.push_back(parameter);
    group.learning_rate_scale = std::pow(decay, static_cast<double>(layers + 1 - height));
  }
  std::vector<ParameterGroup> result;
  for (auto& [height, group] : groups) result.push_back(std::move(group));
  return result;
}

}  // namespace weft
