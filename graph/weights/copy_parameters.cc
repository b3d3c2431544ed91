#include "weft/graph/weights/copy_parameters.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/scope_weights.h"

namespace weft {
namespace {

using NamedWeights = std::map<std::string, Tensor, std::less<>>;

WeightTypes types_of_tensors(const NamedWeights& weights, std::string_view function,
                             SourceLocation loc) {
  WeightTypes result;
  for (const auto& [name, tensor] : weights) {
    if (!tensor.defined()) {
      throw ArgumentError(
          fmt::format("{}: the tensor '{}' is undefined\n  at {}", function, name, loc.str()));
    }
    result.emplace(name, ValueType{tensor.dtype(), Shape(tensor.sizes())});
  }
  return result;
}

NamedWeights values_of_weights(Session& session,
                               const std::map<std::string, Variable, std::less<>>& weights) {
  NamedWeights result;
  for (const auto& [name, variable] : weights) result.emplace(name, session.value(variable.name()));
  return result;
}

void check_graph(const Session& session, const Scope& scope, SourceLocation loc) {
  if (&session.graph() == &scope.graph()) return;
  throw GraphError(
      fmt::format("copy_parameters: {} belongs to another graph than its Session\n  at {}",
                  scope_text(scope), loc.str()));
}

// Removes the buffers from `weights`, and the tensors with the same names from `others`.
void drop_buffers(std::map<std::string, Variable, std::less<>>& weights, NamedWeights& others) {
  for (auto it = weights.begin(); it != weights.end();) {
    const bool is_buffer = it->second.info().kind == VariableKind::buffer;
    if (is_buffer) others.erase(it->first);
    it = is_buffer ? weights.erase(it) : std::next(it);
  }
}

// Returns a copy in double.
Tensor to_double(const Tensor& x) { return x.dtype() == DType::f64 ? x.clone() : x.to(DType::f64); }

// Adds (x - mean) * share to the mean, which is in double. If x equals the mean, the mean does not
// change.
void move_towards(Tensor& mean, const Tensor& x, double share) {
  if (share == 0) return;
  double* out = mean.mutable_data<double>();
  const Tensor wide = x.to(DType::f64);
  const double* in = wide.data<double>();
  for (std::int64_t i = 0; i < mean.numel(); ++i) {
    // Also keeps infinities that are equal.
    if (in[i] != out[i]) out[i] += (in[i] - out[i]) * share;
  }
}

void copy_weights(NamedWeights weights, std::string_view from, Session& target, const Scope& to,
                  const CopyOptions& options, SourceLocation loc) {
  require_option("copy_parameters", "tau", options.tau, Allowed::fraction, loc);
  check_graph(target, to, loc);
  auto wanted = scope_weights("copy_parameters", to, loc);
  if (!options.buffers) drop_buffers(wanted, weights);
  require_same_weights("copy_parameters", from, types_of_tensors(weights, "copy_parameters", loc),
                       scope_text(to), types_of(wanted), loc);
  std::vector<VariableStore::NewValue> values;
  for (const auto& [name, variable] : wanted) {
    // Initialises the variable first, as otherwise the store would count it as loaded by the user
    // and reject other variables without a value.
    if (options.tau < 1 || !target.store()->contains(variable.name())) {
      const Tensor old = target.value(variable.name());
      const bool blends = variable.info().kind == VariableKind::parameter;
      if (blends && options.tau < 1 && is_floating(old.dtype())) {
        Tensor mean = to_double(old);
        move_towards(mean, weights.at(name), options.tau);
        weights[name] = mean.to(old.dtype());
      }
    }
    values.push_back({variable.name(), variable.info().kind, std::move(weights.at(name))});
  }
  target.store()->assign(std::move(values));
}

}  // namespace

void copy_parameters(Session& session, const Scope& from, const Scope& to,
                     const CopyOptions& options, SourceLocation loc) {
  copy_parameters(session, from, session, to, options, loc);
}

void copy_parameters(Session& source, const Scope& from, Session& target, const Scope& to,
                     const CopyOptions& options, SourceLocation loc) {
  check_graph(source, from, loc);
  auto given = scope_weights("copy_parameters", from, loc);
  NamedWeights none;
  if (!options.buffers) drop_buffers(given, none);
  // Compares the declarations before any tensor is initialised or copied.
  check_graph(target, to, loc);
  auto wanted = scope_weights("copy_parameters", to, loc);
  if (!options.buffers) drop_buffers(wanted, none);
  require_same_weights("copy_parameters", scope_text(from), types_of(given), scope_text(to),
                       types_of(wanted), loc);
  copy_weights(values_of_weights(source, given), scope_text(from), target, to, options, loc);
}

void copy_parameters(const NamedWeights& weights, Session& target, const Scope& to,
                     const CopyOptions& options, SourceLocation loc) {
  copy_weights(weights, "the tensors", target, to, options, loc);
}

NamedWeights weights_in(Session& session, const Scope& scope, SourceLocation loc) {
  check_graph(session, scope, loc);
  return values_of_weights(session, scope_weights("weights_in", scope, loc));
}

NamedWeights weights_in(const VariableStore& store, std::string_view scope, SourceLocation loc) {
  NamedWeights result;
  const std::string below = scope.empty() ? "" : fmt::format("{}.", scope);
  for (auto& [name, value] : store.snapshot()) {
    const VariableKind kind = store.kind(name);
    if (kind != VariableKind::parameter && kind != VariableKind::buffer) continue;
    if (name.starts_with(below)) result.emplace(name.substr(below.size()), value);
  }
  if (result.empty()) {
    throw ArgumentError(fmt::format("weights_in: the store has no parameters or buffers{}\n  at {}",
                                    scope.empty() ? "" : fmt::format(" in scope '{}'", scope),
                                    loc.str()));
  }
  return result;
}

NamedWeights average_parameters(const std::vector<NamedWeights>& models,
                                const std::vector<double>& weights, SourceLocation loc) {
  if (models.empty()) {
    throw ArgumentError("average_parameters: the list of models is empty\n  at " + loc.str());
  }
  if (!weights.empty() && weights.size() != models.size()) {
    throw ArgumentError(
        fmt::format("average_parameters: there are {} weights for {} models\n  at {}",
                    weights.size(), models.size(), loc.str()));
  }
  double sum = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    require_option("average_parameters", fmt::format("weight {}", i), weight, Allowed::not_negative,
                   loc);
    sum += weight;
  }
  require_option("average_parameters", "the sum of the weights", sum, Allowed::positive, loc);
  const WeightTypes wanted = types_of_tensors(models[0], "average_parameters", loc);
  for (std::size_t i = 1; i < models.size(); ++i) {
    require_same_weights("average_parameters", fmt::format("model {}", i),
                         types_of_tensors(models[i], "average_parameters", loc), "model 0", wanted,
                         loc);
  }
  NamedWeights result;
  for (const auto& [name, first] : models[0]) {
    double total = 0;
    Tensor mean, last;
    for (std::size_t i = 0; i < models.size(); ++i) {
      const double weight = weights.empty() ? 1 : weights[i];
      if (weight == 0) continue;
      last = models[i].at(name);
      total += weight;
      if (!is_floating(last.dtype())) continue;
      if (mean.defined()) {
        move_towards(mean, last, weight / total);
      } else {
        mean = to_double(last);
      }
    }
    result.emplace(name, mean.defined() ? mean.to(last.dtype()) : last.clone());
  }
  return result;
}

}  // namespace weft
