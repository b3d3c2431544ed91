// The --best file, which holds the model with the lowest validation loss so far.
#pragma once

#include <string>

#include "weft/models/program/files/paths.h"
#include "weft/models/training/settings.h"

namespace weft::program {

/// Tracks whether the --best file holds the best model of a run, and prints this status.
class BestFile {
 public:
  /// `out` is the file for the last model. `history` is the history of the run before it was
  /// resumed. Throws UsageError if the run has no validation data, if the name of `file` differs
  /// from `out` only in its extension (the two would be easy to confuse), or if a resumed run would
  /// replace a model that cannot be compared with its own evaluations.
  BestFile(OutputFile file, const std::string& out, const TrainSettings& settings,
           const TrainHistory& history, bool evaluates);

  const OutputFile& file() const { return file_; }
  /// Records that the best model was written to the file.
  void saved() { holds_best_ = true; }
  /// Prints the best evaluation and the file that holds its model. To be called at the end of the
  /// run.
  void print(const BestEvaluation& best) const;

 private:
  OutputFile file_;
  std::int64_t batches_;  // held-out batches per compared evaluation; 0 = all
  bool holds_best_ = false;
};

/// Describes the data of evaluations over `batches` held-out batches, such as "up to 20 held-out
/// batches". If `batches` is 0, returns "the whole split".
std::string compared_part(std::int64_t batches);

}  // namespace weft::program
