// Exponential moving averages of weights.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autodiff/optimizers/step.h"
#include "weft/graph/engine/variable_store.h"

namespace WEFT_API weft {

struct EmaOptions {
  /// Factor by which one step multiplies the old average.
  double decay = 0.999;
  /// Use the smaller decay min(decay, (1 + t) / (10 + t)) after t steps, so that the averages
  /// quickly forget the initial weights.
  bool warmup = false;
  /// Name prefix of the added variables. If empty, the prefix is "ema" for the first Ema of a
  /// graph, then "ema.2", "ema.3" and so on. It is a GraphError if another Ema already uses the
  /// prefix.
  std::string scope = {};
};

/// Exponential moving averages of parameters (Polyak and Juditsky 1992). Every step computes
///   a += (1 - decay) * (p - a)
/// with the new p; before the first step, a is p. The averages often perform better than the final
/// weights.
///
///   const TrainingStep step = adamw(loss, g.parameters());
///   train.update(step).update(Ema(g.parameters(), {.decay = 0.9999}).updates(step));
///   ...
///   Session averaged(g, averaged_store(*session.store()));  // evaluates with the averages
///
/// The average of "net.w" is the variable "ema.net.w.average" of kind optimizer, which is saved and
/// resumed with the training run.
class Ema {
 public:
  /// Adds the variables. Throws ArgumentError if there is no parameter, a parameter is listed twice
  /// or the decay is not in [0, 1), and GraphError if the scope is taken. The graph is then
  /// unchanged.
  explicit Ema(const std::vector<Variable>& parameters, const EmaOptions& options = {},
               SourceLocation loc = SourceLocation::current());

  /// Returns the updates of the averages, for a program that also applies `step`. The averages are
  /// updated with the parameters after `step`, and with the current values of parameters that
  /// `step` does not update. If `step` is skipped, the averages are not updated either.
  Updates updates(const TrainingStep& step, SourceLocation loc = SourceLocation::current()) const;

  const std::vector<Variable>& parameters() const { return parameters_; }
  /// The averages, one per parameter. Their values are zero before the first step;
  /// averaged_parameters() takes this into account.
  const std::vector<Variable>& averages() const { return averages_; }
  /// The prefix of the variables, which must be passed to averaged_store() if a graph has several
  /// Ema objects.
  const std::string& scope() const { return options_.scope; }
  /// i64 scalar: number of steps that the averages include.
  Variable steps() const { return steps_; }

 private:
  EmaOptions options_;
  std::vector<Variable> parameters_, averages_;
  Variable steps_;
};

/// Returns true if the store contains the averages of an Ema with this scope.
bool has_averages(const VariableStore& store, std::string_view scope = "ema");

/// Returns the averages by parameter name, from a consistent snapshot of the store. Before the
/// first step, returns the parameters themselves. Averages whose parameter is not in the store are
/// omitted. Throws StateError if has_averages() is false.
std::map<std::string, Tensor, std::less<>> averaged_parameters(const VariableStore& store,
                                                               std::string_view scope = "ema");

/// Returns a new store for evaluation and for saving inference programs. Parameters that have an
/// average are replaced by it; other variables are copied, except optimizer state and caches.
/// Throws StateError under the same condition as averaged_parameters().
std::shared_ptr<VariableStore> averaged_store(const VariableStore& store,
                                              std::string_view scope = "ema");

}  // namespace weft
