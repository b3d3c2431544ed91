// The files of a training: the model, its earlier checkpoints, and what goes beside them.
#pragma once

#include <string>

#include "weft/models/program/averages.h"
#include "weft/models/program/paths.h"
#include "weft/models/program/train_arguments.h"
#include "weft/models/trained/model.h"

namespace weft::program {

/// The files of a model's state: its own, and those that go beside it.
class ModelFiles {
 public:
  /// `averages` may be null. `session` is that of the training; where all write (TrainArguments::
  /// all_write) all ranks call what is below, else rank 0 alone. The arguments must outlive it.
  ModelFiles(TrainedModel& model, Averages* averages, Session& session, const TrainArguments& args);

  /// A checkpoint of the run, to the file of --out.
  void checkpoint(const TrainHistory& history);
  /// To that file.
  void write(const OutputFile& file, const TrainHistory& history);

 private:
  OutputFile companion(const OutputFile& file, const std::string& ending) const;
  /// The checkpoint that is about to be replaced stays as the first of the earlier ones.
  void keep_earlier(const std::string& path) const;

  TrainedModel& model_;
  Averages* averages_;
  Session& session_;
  const TrainArguments& args_;
  bool saved_;  // by this run: the file of the last checkpoint is its own
};

}  // namespace weft::program
