#include "weft/models/training/fine_tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"
#include "weft/graph/weights/matrices.h"
#include "weft/serialization/match_tensors.h"

namespace weft {
namespace {

/// Returns the first numeric component of a dotted name, if there is one.
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

}  // namespace

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
      throw ArgumentError(fmt::format("no parameter matches '{}'; existing parameters: {}", pattern,
                                      first_of(names)));
    }
  }
  return frozen;
}

std::vector<ParameterGroup> learning_rate_groups(const Graph& graph, double decay) {
  if (!(decay > 0 && decay <= 1))
    throw ArgumentError(fmt::format("layer_lr_decay must be in (0, 1], not {}", decay));
  const std::vector<Variable> parameters = graph.parameters();
  std::int64_t layers = 0;
  for (const Variable& parameter : parameters)
    layers = std::max(layers, layer_number(parameter.name()).value_or(-1) + 1);
  std::map<std::int64_t, ParameterGroup> groups;  // by level; 0 = below all layers
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
