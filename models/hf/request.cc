#include "weft/models/hf/request.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft::hf {
namespace {

/// Returns the dtypes and ranks of values. All sizes are 1, because only the ranks are used.
InputTypes types_of(const InputValues& values) {
  InputTypes types;
  for (const auto& [name, value] : values)
    types[name] = {value.dtype(), Sizes(static_cast<std::size_t>(value.rank()), 1)};
  return types;
}

}  // namespace

Request::Request(Graph& g, const std::string& text, InputTypes inputs, const std::string& given)
    : graph(g), config(text), architecture(given), inputs_(std::move(inputs)) {
  if (!architecture.empty()) return;
  const std::vector<std::string> names = config.list("architectures");
  if (names.size() != 1) {
    throw ArgumentError(
        fmt::format("config.json: architectures must name exactly one class, but names {}; specify "
                    "the class to build",
                    names.size()));
  }
  architecture = names.front();
}

Request::Request(Graph& g, const std::string& text, const InputValues& inputs,
                 const std::string& given)
    : Request(g, text, types_of(inputs), given) {
  values_ = inputs;
}

Value Request::input(const std::string& name, std::initializer_list<std::string_view> axes) {
  const auto it = inputs_.find(name);
  if (it == inputs_.end()) return {};
  used_.insert(name);
  const auto& [dtype, sizes] = it->second;
  if (sizes.size() != axes.size()) {
    throw ShapeError(
        fmt::format("the input {} must have {} axes, but has {}", name, axes.size(), sizes.size()));
  }
  if (const auto given = values_.find(name); given != values_.end()) return given->second;
  ValueType type{dtype, Shape(sizes)};
  int axis = 0;
  for (const std::string_view symbol : axes) {
    if (!symbol.empty()) type.shape[axis] = graph.dim(symbol);
    ++axis;
  }
  return graph.input(name, type);
}

Value Request::required(const std::string& name, std::initializer_list<std::string_view> axes) {
  const Value value = input(name, axes);
  if (!value.defined())
    throw ArgumentError(fmt::format("{} requires the input {}", architecture, name));
  return value;
}

int Request::rank(const std::string& name) const {
  const auto it = inputs_.find(name);
  return it == inputs_.end() ? -1 : static_cast<int>(it->second.second.size());
}

void Request::finish() const {
  for (const auto& [name, type] : inputs_) {
    if (!used_.contains(name))
      throw ArgumentError(fmt::format("{} does not use the input {}", architecture, name));
  }
}

std::string Request::task() const {
  const std::string& prefix = find_model_type(config.model_type())->prefix;
  if (!architecture.starts_with(prefix)) unsupported_architecture();
  return architecture.substr(prefix.size());
}

void Request::unsupported_architecture() const {
  throw ArgumentError(fmt::format("the class {} of model_type \"{}\" is not supported",
                                  architecture, config.model_type()));
}

void put_hidden(Model& model, const std::string& prefix, const std::vector<Value>& hidden) {
  for (std::size_t i = 0; i < hidden.size(); ++i)
    model.outputs[prefix + std::to_string(i)] = hidden[i];
}

}  // namespace weft::hf
