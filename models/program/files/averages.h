// Moving averages of the weights during a training run. Evaluations use the averages, and they are
// saved next to the model.
#pragma once

#include <memory>

#include "weft/graph/run/session.h"
#include "weft/models/training/model.h"

namespace weft::program {

/// A Session that runs the model with the averages of its weights as of the last refresh().
class Averages {
 public:
  /// `model` must have settings.ema > 0 and initialised variables, and must outlive this object.
  Averages(const TrainedModel& model, const SessionOptions& options);

  Session& session() { return session_; }
  /// Copies the current averages into the session.
  void refresh();
  /// Refreshes the averages and writes a model that uses them as its weights. The written model
  /// cannot be trained.
  void save(const std::string& path);

 private:
  const TrainedModel& model_;
  std::shared_ptr<VariableStore> store_;
  Session session_;
};

}  // namespace weft::program
