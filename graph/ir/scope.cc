#include "weft/graph/ir/scope.h"

#include <fmt/format.h>

#include <unordered_set>

#include "weft/core/error.h"

namespace weft {

/// The state of one pass over a model. A pass is one call of the function that builds the model.
struct Scope::Pass {
  Mode mode;
  std::unordered_set<std::string> declared = {};  // names of declared variables
};

std::string Scope::join(std::string_view name) const {
  if (name.empty()) {
    throw ArgumentError(fmt::format("a name below scope '{}' cannot be empty", path_));
  }
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

Scope Scope::in(Mode mode) const {
  Scope result(*graph_, path_);
  result.pass_ = std::make_shared<Pass>(Pass{mode});
  return result;
}

std::optional<Mode> Scope::mode() const {
  return pass_ == nullptr ? std::nullopt : std::optional<Mode>(pass_->mode);
}

bool Scope::is_training(std::string_view layer, SourceLocation loc) const {
  if (pass_ != nullptr) return pass_->mode == Mode::training;
  throw GraphError(fmt::format(
      "{} in scope '{}' behaves differently in training and evaluation, but the scope has no mode: "
      "build the model with net.training() or net.evaluation() instead of the plain Scope net, or "
      "apply a declared model with model.training() or model.evaluation()\n  {}",
      layer, path_, graph_->describe_source(loc)));
}

Variable Scope::variable(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                         VariableOptions options, SourceLocation loc) const {
  // Creates the symbols exactly as Graph::variable() does.
  return variable(name, graph_->declared_type(dtype, sizes), options, loc);
}

Variable Scope::variable(std::string_view name, const ValueType& type, VariableOptions options,
                         SourceLocation loc) const {
  const std::string full = join(name);
  if (pass_ == nullptr) return graph_->variable(full, type, options, loc);
  if (!pass_->declared.insert(full).second) {
    throw GraphError(
        fmt::format("variable '{}' is declared twice in one pass over the model: different layers "
                    "need different scopes; to use one layer twice, declare it once (make_...) or "
                    "begin another pass "
                    "(Scope::training(), Scope::evaluation())\n  {}",
                    full, graph_->describe_source(loc)));
  }
  if (!graph_->has_variable(full)) return graph_->variable(full, type, options, loc);
  const Variable found = graph_->find_variable(full);
  const auto differs = [&](const std::string& existing, const std::string& requested) {
    return fmt::format(
        "variable '{}' is {}, but {} in this pass: all passes over a model must declare the same "
        "variables\n  {}",
        full, existing, requested, graph_->describe_source(loc));
  };
  const std::string existing = found.value().type().str(), requested = type.str();
  if (found.dtype() != type.dtype) throw DTypeError(differs(existing, requested));
  if (found.shape() != type.shape) throw ShapeError(differs(existing, requested));
  if (found.info().kind != options.kind) {
    throw GraphError(differs(fmt::format("of kind {}", variable_kind_name(found.info().kind)),
                             fmt::format("of kind {}", variable_kind_name(options.kind))));
  }
  return found;
}

void Scope::alias(std::string_view name, Variable variable, SourceLocation loc) const {
  const std::string full = join(name);
  if (pass_ != nullptr && graph_->has_variable(full) && graph_->find_variable(full) == variable)
    return;
  graph_->alias(full, variable, loc);
}

std::vector<Variable> Scope::parameters() const {
  std::vector<Variable> result;
  const std::string below = path_ + ".";
  for (const Variable& v : graph_->parameters()) {
    if (path_.empty() || v.name() == path_ || v.name().starts_with(below)) result.push_back(v);
  }
  return result;
}

}  // namespace weft
