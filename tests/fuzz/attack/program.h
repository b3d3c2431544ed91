// Running the program `weft` under limits, and judging how it ended.
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
  std::chrono::milliseconds most{60'000};
  std::uint64_t address_space = std::uint64_t{16} << 30;  // RLIMIT_AS
  std::uint64_t file_size = 0;                            // RLIMIT_FSIZE; 0 = none
  int descriptors = 0;                                    // RLIMIT_NOFILE; 0 = as it is
  std::string input = {};                                 // path for stdin; empty = /dev/null
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// Called about every millisecond with the process and the time since its start.
  std::function<void(int pid, std::chrono::microseconds since)> watch = {};
};

struct Outcome {
  int code = -1;   // exit code, or
  int signal = 0;  // what ended it
  bool timed_out = false;
  std::string out, err;
  std::uint64_t peak_bytes = 0;  // of resident memory
  double seconds = 0;
};

struct Rules {
  std::uint64_t most_bytes = std::uint64_t{1500} << 20;
  bool signals_are_fine = false;  // somebody sent one
  int most_error_lines = 1;
};

/// The program, with files for its output in `folder`.
class Program {
 public:
  /// `sanitized`: it was built with a sanitizer, which takes much memory and time of its own.
  Program(std::string path, std::string folder, bool sanitized)
      : path_(std::move(path)), folder_(std::move(folder)), sanitized_(sanitized) {}
  Outcome operator()(const Arguments& arguments, const RunOptions& options = {}) const;

 private:
  std::string path_, folder_;
  bool sanitized_;
};

/// What is wrong with how a command ended: it must end in time and with little memory, by itself,
/// with 0, or with 1 or 2 and one line on stderr that begins with "weft: ", is not endless and is
/// about the user's world, not C++'s; with 0 no figure may be NaN or infinite. Empty: nothing.
std::string complaint(const Outcome& outcome, const Rules& rules = {});

/// As a person would type it.
std::string shown(const Arguments& arguments);

}  // namespace weft::attack
