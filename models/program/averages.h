// Moving averages of the weights during a training run. Evaluations use the averages, and they are
// saved next to the model.
#pragma once

#include <memory>

#include "weft/graph/run/session.h"
#include "weft/models/trained/model.h"

namespace weft::program {

/// A Session over the averages of a model's weights, as of the last refresh().
class Averages {
 public:
  /// `model` must have settings.ema > 0 and initialised variables, and must outlive this object.
  Averages(const TrainedModel& model, const SessionOptions& options);

  Session& session() { return session_; }
  /// Copies the current averages into the session.
  void refresh();
  /// Refreshes the averages and writes a model with them as its weights. That model cannot be
  /// trained.
  void save(const std::string& path);

 private:
  const TrainedModel& model_;
  std::shared_ptr<VariableStore> store_;
  Session session_;
};

}  // namespace weft::program
