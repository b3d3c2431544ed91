// Runs the program `weft` under resource limits and checks how it terminated.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weft::attack {

using Arguments = std::vector<std::string>;

struct RunOptions {
  std::chrono::milliseconds time_limit{60'000};           // time limit
  std::uint64_t address_space = std::uint64_t{16} << 30;  // RLIMIT_AS
  std::uint64_t file_size = 0;                            // RLIMIT_FSIZE; 0: unlimited
  int descriptors = 0;                                    // RLIMIT_NOFILE; 0: unchanged
  std::string input = {};                                 // path of stdin; empty: /dev/null
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// Called about every half millisecond with the process ID and the time since the start.
  std::function<void(int pid, std::chrono::microseconds since)> watch = {};
};

struct Outcome {
  int code = -1;   // exit code; -1 if a signal ended the process
  int signal = 0;  // signal that ended the process, or 0
  bool timed_out = false;
  std::string out, err;
  std::uint64_t peak_bytes = 0;  // peak resident memory; 0 with sanitizers
  double seconds = 0;
};

/// Requirements for the termination of a command.
struct Rules {
  std::uint64_t max_bytes = std::uint64_t{1500} << 20;
  bool signals_allowed = false;  // true if the attack sent a signal
  int max_error_lines = 1;
};

/// The program under test. Its stdout and stderr are written to files in `folder`.
class Program {
 public:
  /// If `sanitized` is true, the program was built with a sanitizer, which needs much additional
  /// memory and time.
  Program(std::string path, std::string folder, bool sanitized)
      : path_(std::move(path)), folder_(std::move(folder)), sanitized_(sanitized) {}
  /// Runs the program with these arguments and waits until it terminates.
  Outcome operator()(const Arguments& arguments, const RunOptions& options = {}) const;

 private:
  std::string path_, folder_;
  bool sanitized_;
};

/// Describes how the termination of a command violates the rules; empty if it does not. The command
/// must terminate within the time and memory limits and without a signal. The exit code must be 0,
/// 1 or 2. If it is 1 or 2, stderr must contain a single line that begins with "weft: ", has at
/// most 8 KiB and does not mention "std::". If it is 0, no printed metric may be NaN or infinite.
std::string find_violation(const Outcome& outcome, const Rules& rules = {});

/// Returns the command line in the form in which a user would type it.
std::string command_line(const Arguments& arguments);

}  // namespace weft::attack
