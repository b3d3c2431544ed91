#include "weft/models/program/terminal/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/core/world/launcher.h"

namespace weft::program {
namespace {

constexpr int kBarWidth = 24;
constexpr double kRedrawSeconds = 0.1;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool silent = false;

void report_stdout(int error) {
  print_stderr("weft: cannot write to stdout: {}\n", std::strerror(error));
}

/// Returns true if stdout is a terminal. Returns false if an MPI launcher started this process,
/// because launchers connect every rank to a terminal, no matter where the output goes.
bool is_terminal() { return isatty(STDOUT_FILENO) != 0 && !started_by_mpi(); }

}  // namespace

void replace_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free descriptor, which is `fd`. The file is opened for the opposite
    // direction, so that reads and writes fail as they did before.
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void write_stdout(std::string_view text) {
  // The stream's error flag records the first failure; nothing is written after it.
  if (silent || stdout_failed()) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) report_stdout(errno);
}

void flush_stdout() {
  if (stdout_failed()) return;
  errno = 0;
  if (std::fflush(stdout) != 0) report_stdout(errno);
}

void silence_stdout() { silent = true; }

bool is_silent() { return silent; }

bool stdout_failed() { return std::ferror(stdout) != 0; }

void write_stderr(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

std::string short_number(double value) {
  if (value < 1e3) return fmt::format("{:.0f}", value);
  if (value < 1e6) return fmt::format("{:.1f}k", value / 1e3);
  if (value < 1e9) return fmt::format("{:.2f}M", value / 1e6);
  if (value < 1e12) return fmt::format("{:.2f}G", value / 1e9);
  return fmt::format("{:.2f}T", value / 1e12);
}

std::string short_bytes(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1024.0 * 1024) return fmt::format("{:.1f} KiB", bytes / 1024);
  if (bytes < 1024.0 * 1024 * 1024) return fmt::format("{:.1f} MiB", bytes / (1024 * 1024));
  return fmt::format("{:.2f} GiB", bytes / (1024.0 * 1024 * 1024));
}

std::string short_duration(double seconds) {
  const auto s = static_cast<std::int64_t>(std::lround(std::clamp(seconds, 0.0, 1e9)));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string one_line(const std::string& message) {
  std::string out;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] != '\n') {
      out += message[i];
      continue;
    }
    while (i + 1 < message.size() && (message[i + 1] == ' ' || message[i + 1] == '\n')) ++i;
    if (i + 1 < message.size()) out += out.ends_with(':') ? " " : "; ";
  }
  return out;
}

bool colourful() { return is_terminal() && std::getenv("NO_COLOR") == nullptr; }

ConsoleProgress::ConsoleProgress(std::function<std::string(std::int64_t)> sample)
    : sample_(std::move(sample)), terminal_(is_terminal()), colours_(colourful()) {}

void ConsoleProgress::draw(const StepReport& r) {
  const double share = static_cast<double>(r.step) / static_cast<double>(r.steps);
  const int full = static_cast<int>(share * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < full ? "█" : "░";
  say("\r\x1b[2K{}{}{} {}/{}  loss {:.4f}  lr {:.2e}  {} {}/s  {} left", colours_ ? "\x1b[36m" : "",
      bar, colours_ ? "\x1b[0m" : "", r.step, r.steps, r.loss, r.learning_rate,
      short_number(r.items_per_second), r.unit, short_duration(r.seconds_left));
  flush_stdout();
  drawn_ = true;
}

void ConsoleProgress::on_step(const StepReport& report) {
  if (terminal_) {
    const double time = now();
    if (time - last_draw_ < kRedrawSeconds && report.step != report.steps) return;
    last_draw_ = time;
    draw(report);
    return;
  }
  if (!pace_.due(report.step, report.steps, now())) return;
  say("step {}/{}  loss {:.4f}  lr {:.2e}  {} {}/s  {} left\n", report.step, report.steps,
      report.loss, report.learning_rate, short_number(report.items_per_second), report.unit,
      short_duration(report.seconds_left));
  flush_stdout();
}

void ConsoleProgress::on_skip(const SkipReport& report) {
  finish();
  say("skipped   step {}: {} ({} of at most {} in a row)\n", report.step, report.what,
      report.in_a_row, report.most);
  std::fflush(stdout);
}

void ConsoleProgress::on_evaluation(std::int64_t step, const Evaluation& found, bool whole) {
  finish();
  std::string metrics;
  for (const Metric& metric : found.metrics)
    metrics += fmt::format("  {} {:.4f}", metric.name, metric.value);
  say("{}step {}  validation loss {:.4f}{}{}{}\n", colours_ ? "\x1b[1m" : "", step, found.loss,
      metrics, whole ? " (whole split)" : "", colours_ ? "\x1b[0m" : "");
  if (sample_ && sampled_ != step) {
    sampled_ = step;
    const std::string line = sample_(step);
    if (!line.empty())
      say("{}  | {}{}\n", colours_ ? "\x1b[2m" : "", line, colours_ ? "\x1b[0m" : "");
  }
  flush_stdout();
}

void ConsoleProgress::on_best(std::int64_t step, double loss) {
  say("{}best so far: step {}, validation loss {:.4f}, saved{}\n", colours_ ? "\x1b[2m" : "", step,
      loss, colours_ ? "\x1b[0m" : "");
  flush_stdout();
}

void ConsoleProgress::finish() {
  if (!drawn_) return;
  say("\r\x1b[2K");
  drawn_ = false;
}

}  // namespace weft::program
