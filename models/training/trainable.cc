#include "weft/models/training/trainable.h"

#include <utility>

#include "weft/models/training/training_step.h"

namespace weft {

void make_trainable(TrainedModel& model, const FineTuneOptions& options, SourceLocation loc) {
  const Value loss = model.program("train").outputs().front().second;
  Program& train = model.add_program("train");
  freeze(*model.graph, options.freeze);
  const std::vector<ParameterGroup> groups =
      learning_rate_groups(*model.graph, options.layer_lr_decay);
  add_training_step(train, loss, groups, model.settings, loc);
}

TrainTask train_task(const TrainedModel& model, std::string unit,
                     std::function<TrainBatch(const BatchPart&)> batch) {
  return {.train = model.find_program("train"), .batch = std::move(batch), .unit = std::move(unit)};
}

}  // namespace weft
