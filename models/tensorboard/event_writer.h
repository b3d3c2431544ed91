// EventWriter: writes event files for TensorBoard.
//
//   EventWriter events("runs/first");
//   events.scalar("loss/train", step, loss);
//
// `tensorboard --logdir runs` then shows one run per folder below runs. To log a whole training
// run, pass a TensorBoardLog to the Trainer (tensorboard_log.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/tensor.h"

namespace WEFT_API weft {

struct EventWriterOptions {
  /// TensorBoard hides the events of earlier files in the folder with this step or a later one. A
  /// run that is resumed after step N passes N + 1, because the earlier process may have logged
  /// further steps before it ended; a new run in the folder of an earlier one passes 0.
  std::optional<std::int64_t> purge_step = {};
  /// Events are collected in memory and written to the file when this time has passed since the
  /// last write, when 1 MiB has been collected, and by flush().
  std::chrono::milliseconds flush_every{2000};
  /// Called once if the file cannot be written (for example because the disk is full); all further
  /// events are discarded. If it is empty, the error is thrown.
  std::function<void(const IoError&)> on_error = {};
};

/// Writes one event file, "events.out.tfevents.TIME.HOST.PID.NUMBER", of a run. The name of the run
/// in TensorBoard is the path of its folder relative to --logdir. Every process and every
/// resumed run writes another file, and TensorBoard joins the files of a folder.
///
/// The file is a sequence of records (TFRecord: length, masked CRC-32C of the length, data, masked
/// CRC-32C of the data), each of which is an Event message. Each write appends whole records, so
/// the file is readable after every flush, also if the process is killed later. If a write fails,
/// the incomplete record is removed.
///
/// Tags with a slash are grouped by their first part ("loss/train"). A tag must always be used for
/// the same kind of event. An EventWriter may be used by one thread at a time.
class EventWriter {
 public:
  /// Creates the folder, if necessary, and the file. Throws IoError with path and reason.
  explicit EventWriter(const std::string& folder, EventWriterOptions options = {});
  /// Writes the remaining events. Errors are reported to `on_error` only.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // The following functions throw IoError if the file cannot be written and there is no `on_error`.

  /// Adds a number. TensorBoard stores numbers as f32; NaN and infinities are allowed.
  void scalar(std::string_view tag, std::int64_t step, double value) {
    scalars(step, {{std::string(tag), value}});
  }
  /// Adds several numbers of one step as a single event.
  void scalars(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);
  /// Adds a histogram of the elements, of any dtype and shape: 64 buckets of equal width between
  /// the smallest and the largest finite value. Other values are not counted.
  void histogram(std::string_view tag, std::int64_t step, const Tensor& values);
  /// Adds a text, which TensorBoard shows as Markdown.
  void text(std::string_view tag, std::int64_t step, std::string_view markdown);
  /// Adds an image: f32 [channels, height, width] with 1 (grey) or 3 (RGB) channels and values in
  /// [0, 1]. Other values are clamped; NaN is 0. It is stored as PNG. Throws ShapeError or
  /// DTypeError for other tensors.
  void image(std::string_view tag, std::int64_t step, const Tensor& image);

  /// A value of a hyper-parameter.
  using HyperParameter = std::variant<double, bool, std::string>;
  using HyperParameters = std::map<std::string, HyperParameter>;
  /// Adds the hyper-parameters of this run for TensorBoard's table of runs ("HParams"). Its metrics
  /// are the scalars of the run.
  void hyper_parameters(const HyperParameters& values);
  /// Optional: selects the columns of the table for all runs of the log folder: names of
  /// hyper-parameters and tags of scalars. Without it, TensorBoard shows those that it finds in the
  /// runs.
  void experiment(const HyperParameters& examples, const std::vector<std::string>& metric_tags);
  /// Marks the run in this table as complete or as failed.
  void end_run(bool success);

  /// Writes all events to the file.
  void flush();
  /// The path of the event file.
  const std::string& path() const { return path_; }
  /// True if the file could not be written.
  bool failed() const { return failed_; }

 private:
  void add(std::int64_t step, int field, std::string_view content);
  void add_hparams(std::string_view tag, int field, std::string_view content);

  std::string path_, pending_;
  EventWriterOptions options_;
  std::chrono::steady_clock::time_point written_at_;
  std::int64_t size_ = 0;  // bytes of complete records in the file
  int fd_ = -1;
  bool failed_ = false;
};

}  // namespace weft
