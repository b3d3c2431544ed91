// What the program shows while it works.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/models/program/progress_pace.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

// All that the program prints goes through these. What cannot be written (a full disk, a pipe whose
// reader is gone) is said once on stderr, and no more is written; it does not throw: a training is
// not lost with its log. The program's exit code is 1 then.

/// Fills the places of stdin, stdout and stderr where the caller has closed them, so that no file
/// that is opened later takes one of them and gets what the program says. What stands there cannot
/// be read or written.
void fill_standard_streams();

/// Writes to stdout.
void write_stdout(std::string_view text);
/// Formats and writes to stdout.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_stdout(fmt::format(format, std::forward<Args>(args)...));
}
/// Everything written so far gets out.
void flush_stdout();
/// Nothing is written from now on: another rank speaks for this process.
void silence_stdout();
bool is_silent();
/// Whether something could not be written.
bool stdout_failed();

/// Writes to stderr. What cannot be written there cannot be said anywhere.
void write_stderr(std::string_view text) noexcept;
/// Formats and writes to stderr.
template <class... Args>
void say_aside(fmt::format_string<Args...> format, Args&&... args) {
  write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

/// "950", "12.3k", "124.44M", "2.1G".
std::string short_number(double value);
/// "812 B", "24.3 MiB".
std::string short_bytes(double bytes);
/// "0:42", "1:03:20".
std::string short_duration(double seconds);
/// Line breaks become "; ": an error is one line.
std::string one_line(const std::string& message);
/// True where stdout is a terminal that may be coloured (NO_COLOR is not set).
bool colourful();

/// Prints progress: a bar that redraws itself on a terminal, else a plain line now and then.
class ConsoleProgress : public TrainObserver {
 public:
  /// `sample` gives a line to show after an evaluation, or ""; may be empty.
  explicit ConsoleProgress(std::function<std::string()> sample = {});

  void on_step(const StepReport& report) override;
  void on_skip(const SkipReport& report) override;
  void on_evaluation(std::int64_t step, const Evaluation& found, bool whole) override;
  void on_best(std::int64_t step, double loss) override;
  /// Ends a line that is still being redrawn.
  void finish();

 private:
  void draw(const StepReport& report);

  std::function<std::string()> sample_;
  bool terminal_;
  bool colours_;
  bool drawn_ = false;
  double last_draw_ = 0;
  ProgressPace pace_;
  std::int64_t sampled_ = -1;  // the step of the last sample: one is shown for each
};

}  // namespace weft::program
