// The file of --best: the model as it was when its validation loss was the lowest.
#pragma once

#include <string>

#include "weft/models/program/paths.h"
#include "weft/models/train/settings.h"

namespace weft::program {

/// Keeps the best of a run, and says what is in the file.
class BestFile {
 public:
  /// For a run that writes its last model to `out`, and of an earlier part has `history`. Throws
  /// UsageError where it has nothing to validate on, where the name differs from `out` only in its
  /// ending (readers would not know which is which), and where a resumed run would replace a model
  /// that its own evaluations cannot be compared with.
  BestFile(OutputFile file, const std::string& out, const TrainSettings& settings,
           const TrainHistory& history, bool evaluates);

  const OutputFile& file() const { return file_; }
  /// The model was written to it.
  void saved() { holds_best_ = true; }
  /// At the end.
  void print(const BestEvaluation& best) const;

 private:
  OutputFile file_;
  std::int64_t batches_;  // that are compared
  bool holds_best_ = false;
};

/// What evaluations over that many held-out batches cover: "the whole split", "up to 20 held-out
/// batches".
std::string compared_part(std::int64_t batches);

}  // namespace weft::program
