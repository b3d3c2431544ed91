// Failure of a command: its error message, its exit code, and its output on stderr.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace weft::program {

/// The failure of a command, with its error message and exit code.
struct Failure {
  enum class Kind : std::uint8_t { run, usage, memory };
  Kind kind = Kind::run;
  std::string message = {};  // empty for Kind::memory

  /// Returns the exit code: 2 for a usage error, 1 for any other failure.
  int code() const { return kind == Kind::usage ? 2 : 1; }
  /// Prints the failure as one line on stderr. Allocates no memory for Kind::memory.
  void print() const;
};

/// Returns the failure for the exception that is being handled.
Failure current_failure();

/// Thrown when a command has failed on all ranks. `print` is true if this process prints the error,
/// false if another rank does.
class CommandFailed : public std::exception {
 public:
  CommandFailed(Failure failure, bool print) : failure_(std::move(failure)), print_(print) {}
  const Failure& failure() const { return failure_; }
  bool print() const { return print_; }
  const char* what() const noexcept override { return failure_.message.c_str(); }

 private:
  Failure failure_;
  bool print_;
};

}  // namespace weft::program
