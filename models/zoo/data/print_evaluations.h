// Prints the progress of a training run in a zoo program.
#pragma once

#include <cstdint>

#include "weft/models/training/trainer.h"

namespace weft::zoo {

/// Prints the loss and all metrics of every evaluation:
/// "step  100  loss 1.2345  f1 0.5000".
class PrintEvaluations : public TrainObserver {
 public:
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
};

}  // namespace weft::zoo
