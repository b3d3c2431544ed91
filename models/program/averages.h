// Moving averages of the weights in a training run: they are what is evaluated, and are written
// beside the model.
#pragma once

#include <memory>

#include "weft/graph/run/session.h"
#include "weft/models/trained/model.h"

namespace weft::program {

/// A Session over the averages of a model's weights, as they were at refresh().
class Averages {
 public:
  /// `model` has settings.ema above 0, and its variables are there. It must outlive this.
  Averages(const TrainedModel& model, const SessionOptions& options);

  Session& session() { return session_; }
  void refresh();
  /// Writes the model with the averages for weights, which cannot be trained: a snapshot of now.
  void save(const std::string& path);

 private:
  const TrainedModel& model_;
  std::shared_ptr<VariableStore> store_;
  Session session_;
};

}  // namespace weft::program
