// The file of --best: the model as it was when its validation loss was the lowest.
#pragma once

#include <string>

#include "weft/models/program/train/train_command.h"

namespace weft::program {

/// Keeps the best of a run, and says what is in the file.
class BestFile {
 public:
  /// For a run that writes its last model to `out`. Throws UsageError where it has nothing to
  /// validate on, where the name differs from `out` only in its ending (readers would not know
  /// which is which), and where a resumed run would replace a model that its own evaluations cannot
  /// be compared with.
  BestFile(OutputFile file, const std::string& out, const TrainRun& run);

  void save(const TrainHistory& history);
  /// At the end.
  void print(const BestEvaluation& best) const;

 private:
  OutputFile file_;
  const TrainRun& run_;
  bool holds_best_ = false;
};

}  // namespace weft::program
