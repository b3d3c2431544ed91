// The files that a training run writes: the model, earlier checkpoints, and companion files.
#pragma once

#include <string>
#include <vector>

#include "weft/models/program/commands/train_arguments.h"
#include "weft/models/program/files/averages.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/training/model.h"

namespace weft::program {

/// Writes the state of a model to its own file and to its companion files (adapters, averages).
class ModelFiles {
 public:
  /// `averages` may be null. `session` is the training session. If TrainArguments::all_write is
  /// set, all ranks call the member functions below, otherwise only rank 0 does. The arguments must
  /// outlive this object.
  ModelFiles(TrainedModel& model, Averages* averages, Session& session, const TrainArguments& args);

  /// Writes a checkpoint of the run to the --out file. The previous checkpoint is kept under
  /// another name (--keep).
  void checkpoint(const TrainHistory& history);
  /// Writes the model to `file`.
  void write(const OutputFile& file, const TrainHistory& history);

 private:
  OutputFile companion(const OutputFile& file, const std::string& ending) const;
  /// Keeps the checkpoint that is about to be replaced as the newest of the earlier checkpoints.
  void keep_earlier(const std::string& path);

  TrainedModel& model_;
  Averages* averages_;
  Session& session_;
  const TrainArguments& args_;
  bool saved_;                        // the --out file holds a checkpoint of this run
  std::vector<std::string> foreign_;  // earlier checkpoints of other runs that still exist
};

}  // namespace weft::program
