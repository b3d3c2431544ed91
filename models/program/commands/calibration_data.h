// The data of `weft quantize --calibrate`, in the form that a task reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/models/tasks/common/task.h"

namespace weft::program {

/// Options with which a task evaluates models on calibration data.
class CalibrationData {
 public:
  /// `path` is a file or folder in the format of the task's training data. With `lines`, only the
  /// first lines of a text file are used; they are copied to a temporary file. `given` are data
  /// options of the command, such as --label. Throws UsageError if `lines` is given for a folder or
  /// for a file without lines (JSON, tokens), and IoError if the file cannot be read.
  CalibrationData(const Task& task, const std::string& path, std::optional<std::int64_t> lines,
                  const OptionValues& given);
  ~CalibrationData();
  CalibrationData(const CalibrationData&) = delete;
  CalibrationData& operator=(const CalibrationData&) = delete;

  /// The options to pass to Task::open().
  const OptionValues& values() const { return values_; }
  /// Returns a copy of the model for Task::open(). Tasks evaluate on the part of their data that
  /// they hold out; this copy holds out a large part.
  std::unique_ptr<TrainedModel> reading(const TrainedModel& model) const;

 private:
  std::string folder_;  // temporary folder, or empty
  OptionValues values_;
};

}  // namespace weft::program
