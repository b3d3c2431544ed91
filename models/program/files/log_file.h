// The machine-readable log of a training run (--log): one JSON object per line.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "weft/models/program/files/paths.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/training/trainer.h"

namespace weft::program {

/// Writes each event as it happens, one line per event:
///   {"event": "start", "task": ..., "steps": ..., "settings": {...}}
///   {"event": "step", "step": 1, "loss": ..., "learning_rate": ..., "gradient_norm": ...,
///    "tokens_per_second": ..., "seconds": ...}
/// The other events are "evaluation" (loss, metrics by name, "whole": over all held-out data),
/// "skip", "checkpoint", "best" and "end" (with several ranks: the throughput of each rank, and the
/// fraction of its time that it spent waiting for other ranks). Values that are not finite are
/// written as null. Seconds are counted from the start of this run.
///
/// If a line cannot be written (for example because the disk is full), the error is printed once on
/// stderr and logging stops. No exception is thrown, because a failure to log must not end the
/// training run.
class LogFile : public TrainObserver {
 public:
  /// If `append` is true, the run is resumed and its existing log is continued.
  LogFile(const OutputFile& file, bool append);
  ~LogFile() override;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  /// Opens the file. Because an existing log is replaced only when training begins, a command that
  /// is rejected leaves it unchanged. `unit` is the unit of throughput, TrainTask::unit. Throws
  /// IoError.
  void start(const TaskInfo& task, const TrainSettings& settings, const std::string& unit);
  void on_step(const StepReport& report) override;
  void on_skip(const SkipReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
  void on_checkpoint(std::int64_t step) override;
  void on_best(std::int64_t step, double loss) override;
  void end(const TrainOutcome& outcome);
  /// True if a line could not be written.
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

/// Forwards every event to several observers.
class Observers : public TrainObserver {
 public:
  void add(TrainObserver& observer) { all_.push_back(&observer); }
  void on_step(const StepReport& report) override;
  void on_skip(const SkipReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
  void on_checkpoint(std::int64_t step) override;
  void on_gradient(std::int64_t step, const std::string& parameter,
                   const Tensor& gradient) override;
  void on_best(std::int64_t step, double loss) override;

 private:
  std::vector<TrainObserver*> all_;
};

}  // namespace weft::program
