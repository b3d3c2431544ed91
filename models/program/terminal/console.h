// Console output of the program: stdout, stderr and training progress.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/models/program/terminal/progress_pace.h"
#include "weft/models/training/trainer.h"

namespace weft::program {

// All output of the program goes through these functions. The first write that fails (for example
// on a full disk or a closed pipe) is reported on stderr, and further output is discarded. No
// exception is thrown, because a failure to print must not end a training run.
// The exit code of the program is then 1.

/// Opens /dev/null in place of stdin, stdout or stderr if the caller has closed them. Otherwise a
/// file that is opened later could reuse their descriptor and receive the output of the program.
/// Reading from or writing to the substitute still fails.
void replace_closed_streams();

/// Writes to stdout.
void write_stdout(std::string_view text);
/// Formats and writes to stdout.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_stdout(fmt::format(format, std::forward<Args>(args)...));
}
/// Flushes stdout.
void flush_stdout();
/// Discards all further output to stdout. To be called on ranks whose output another rank prints.
void silence_stdout();
/// True if silence_stdout() was called.
bool is_silent();
/// True if a write to stdout has failed.
bool stdout_failed();

/// Writes to stderr. Failures are ignored, because there is no other place to report them.
void write_stderr(std::string_view text) noexcept;
/// Formats and writes to stderr.
template <class... Args>
void print_stderr(fmt::format_string<Args...> format, Args&&... args) {
  write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

/// Formats a number, for example as "950", "12.3k", "124.44M" or "2.1G".
std::string short_number(double value);
/// Formats a number of bytes, for example as "812 B" or "24.3 MiB".
std::string short_bytes(double bytes);
/// Formats a duration, for example as "0:42" or "1:03:20".
std::string short_duration(double seconds);
/// Joins the lines of an error message into one line, separated by "; " (or by a space after a
/// colon).
std::string one_line(const std::string& message);
/// True if stdout is a terminal and colours are allowed (NO_COLOR is not set).
bool colourful();

/// Prints training progress. On a terminal, a progress bar is redrawn; otherwise, a plain line is
/// printed occasionally.
class ConsoleProgress : public TrainObserver {
 public:
  /// `sample` returns a line to print after the evaluation of a step, or "" to print nothing.
  /// `sample` itself may be empty.
  explicit ConsoleProgress(std::function<std::string(std::int64_t step)> sample = {});

  void on_step(const StepReport& report) override;
  void on_skip(const SkipReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
  void on_best(std::int64_t step, double loss) override;
  /// Clears the progress bar if it is being displayed.
  void finish();

 private:
  void draw(const StepReport& report);

  std::function<std::string(std::int64_t step)> sample_;
  bool terminal_;
  bool colours_;
  bool drawn_ = false;
  double last_draw_ = 0;
  ProgressPace pace_;
  std::int64_t sampled_ = -1;  // step of the last sample; at most one sample per step is printed
};

}  // namespace weft::program
