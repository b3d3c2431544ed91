// Prints the progress of a training run in a zoo program.
#pragma once

#include <cstdint>

#include "weft/models/training/trainer.h"

namespace weft::zoo {

/// Prints the loss and all metrics of every evaluation, and the training loss of every `every`-th
/// step and of the last one unless `every` is 0:
/// "step  100/2000  loss 1.2345  3000 tokens/s", "step  100  validation loss 1.2345  f1 0.5000".
class PrintProgress : public TrainObserver {
 public:
  explicit PrintProgress(std::int64_t every = 0) : every_(every) {}

  void on_step(const StepReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;

 private:
  std::int64_t every_;
};

}  // namespace weft::zoo
