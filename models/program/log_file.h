// The machine-readable log of a training, --log: a JSON object on each line.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "weft/models/program/paths.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

/// Writes what happens, every line at once:
///   {"event": "start", "task": ..., "steps": ..., "settings": {...}}
///   {"event": "step", "step": 1, "loss": ..., "learning_rate": ..., "gradient_norm": ...,
///    "tokens_per_second": ..., "seconds": ...}
///   "evaluation" (loss, metrics by name, "whole": over all held-out data), "skip", "checkpoint",
///   "best", "end" (of several ranks what each did per second, and the part of its time in which it
///    waited for others)
/// Figures that are not finite are null; seconds count from the start of this run.
///
/// A line that cannot be written (a full disk) is said once on stderr, and no more are written: it
/// does not throw, as a training is not lost with its log.
class LogFile : public TrainObserver {
 public:
  /// `append`: the run goes on, and so does the log that is there.
  LogFile(const OutputFile& file, bool append);
  ~LogFile() override;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  /// Opens the file: a log that is there is replaced once the training begins, and by no command
  /// that is refused. `unit` is what steps are counted in, TrainTask::unit. Throws IoError.
  void start(const TaskInfo& task, const TrainSettings& settings, const std::string& unit);
  void on_step(const StepReport& report) override;
  void on_skip(const SkipReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
  void on_checkpoint(std::int64_t step) override;
  void on_best(std::int64_t step, double loss) override;
  void end(const TrainOutcome& outcome);
  /// Whether a line could not be written.
  bool failed() const { return failed_; }

 private:
  void open();
  void write(const std::string& line);
  double seconds() const;

  std::string path_, unit_;
  bool append_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Tells several observers.
class Observers : public TrainObserver {
 public:
  void add(TrainObserver& observer) { all_.push_back(&observer); }
  void on_step(const StepReport& report) override;
  void on_skip(const SkipReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
  void on_checkpoint(std::int64_t step) override;
  void on_best(std::int64_t step, double loss) override;

 private:
  std::vector<TrainObserver*> all_;
};

}  // namespace weft::program
