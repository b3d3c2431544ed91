#include "weft/models/program/files/averages.h"

#include "weft/autodiff/optimizers/ema.h"

namespace weft::program {

Averages::Averages(const TrainedModel& model, const SessionOptions& options)
    : model_(model),
      store_(averaged_store(*model.store)),
      session_(*model.graph, store_, options) {}

void Averages::refresh() {
  for (auto& [name, average] : averaged_parameters(*model_.store)) store_->set(name, average);
}

void Averages::save(const std::string& path) {
  refresh();
  const auto averaged = without_training(model_);
  averaged->store = store_;
  save_model(path, *averaged);
}

}  // namespace weft::program
