// The file of --best: the model with the lowest validation loss so far.
#pragma once

#include <string>

#include "weft/models/program/paths.h"
#include "weft/models/train/settings.h"

namespace weft::program {

/// Tracks whether the file of --best holds the best model of a run, and prints that.
class BestFile {
 public:
  /// `out` is the file of the last model, `history` the history of the part of the run before it
  /// was resumed. Throws UsageError if the run has no validation data, if the name of `file`
  /// differs from `out` only in its extension (readers would not know which is which), or if a
  /// resumed run would replace a model that its own evaluations cannot be compared with.
  BestFile(OutputFile file, const std::string& out, const TrainSettings& settings,
           const TrainHistory& history, bool evaluates);

  const OutputFile& file() const { return file_; }
  /// Records that the best model was written to the file.
  void saved() { holds_best_ = true; }
  /// Prints the best evaluation and where its model is. To be called at the end of the run.
  void print(const BestEvaluation& best) const;

 private:
  OutputFile file_;
  std::int64_t batches_;  // held-out batches of the evaluations that are compared; 0 = all
  bool holds_best_ = false;
};

/// Describes the data of evaluations over that many held-out batches: "the whole split" (0), "up to
/// 20 held-out batches".
std::string compared_part(std::int64_t batches);

}  // namespace weft::program
