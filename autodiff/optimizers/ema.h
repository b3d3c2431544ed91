// Moving averages of weights.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autodiff/optimizers/step.h"
#include "weft/graph/run/variable_store.h"

namespace WEFT_API weft {

struct EmaOptions {
  /// Share of the old average that stays in one step.
  double decay = 0.999;
  /// Early averages forget faster, with min(decay, (1 + t) / (10 + t)) after t steps, so that they
  /// soon leave the weights that the training began with.
  bool warmup = false;
  /// Prefix of the names of the variables that are added. Empty: "ema", and for further ones of a
  /// graph "ema.2", "ema.3" and so on; a GraphError where another Ema has the prefix that is given.
  std::string scope = {};
};

/// Exponential moving averages of parameters (Polyak and Juditsky 1992): after every step
///   a += (1 - decay) * (p - a)
/// with the new p; before the first one a is p. They are often better than the last weights.
///
///   const TrainingStep step = adamw(loss, g.parameters());
///   train.update(step).update(Ema(g.parameters(), {.decay = 0.9999}).updates(step));
///   ...
///   Session averaged(g, averaged_store(*session.store()));  // evaluates with the averages
///
/// The average of "net.w" is the variable "ema.net.w.average", of kind optimizer: saved and resumed
/// with the training.
class Ema {
 public:
  /// Adds the variables. Throws ArgumentError (no parameter, one listed twice, a decay that is not
  /// in [0, 1)), and GraphError where the scope is taken; the graph is then as it was.
  explicit Ema(const std::vector<Variable>& parameters, const EmaOptions& options = {},
               SourceLocation loc = SourceLocation::current());

  /// What a program that takes `step` updates, too: the averages go on with the parameters as
  /// `step` leaves them (those that it does not update stay as they are). Where `step` is skipped
  /// so are they.
  Updates updates(const TrainingStep& step, SourceLocation loc = SourceLocation::current()) const;

  const std::vector<Variable>& parameters() const { return parameters_; }
  /// One per parameter. Zero until the first step: averaged_parameters() knows.
  const std::vector<Variable>& averages() const { return averages_; }
  /// What averaged_store() takes where a graph has several.
  const std::string& scope() const { return options_.scope; }
  /// i64 scalar: steps in the averages.
  Variable steps() const { return steps_; }

 private:
  EmaOptions options_;
  std::vector<Variable> parameters_, averages_;
  Variable steps_;
};

/// Whether a store has averages of an Ema with this scope.
bool has_averages(const VariableStore& store, std::string_view scope = "ema");

/// The averages by the names of their parameters, all of one moment; before the first step the
/// parameters themselves. Averages whose parameter is not in the store are left out. Throws
/// StateError where has_averages() is false.
std::map<std::string, Tensor, std::less<>> averaged_parameters(const VariableStore& store,
                                                               std::string_view scope = "ema");

/// A new store to evaluate and to save programs that only infer: parameters that have an average
/// are replaced by it, everything else is copied but optimizers' state and caches. Throws as
/// averaged_parameters().
std::shared_ptr<VariableStore> averaged_store(const VariableStore& store,
                                              std::string_view scope = "ema");

}  // namespace weft
