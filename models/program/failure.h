// What went wrong, as the program says it.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace weft::program {

/// How a command failed: what it says on stderr and its exit code.
struct Failure {
  enum class Kind : std::uint8_t { run, usage, memory };
  Kind kind = Kind::run;
  std::string message = {};  // without memory there is none

  /// 1 for a failed run, 2 for bad usage.
  int code() const { return kind == Kind::usage ? 2 : 1; }
  /// Says it in one line on stderr. Takes no memory itself where there is none.
  void print() const;
};

/// Of the exception that is being handled.
Failure current_failure();

/// A command that failed is over. `print`: whether this process says so, and not another rank.
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
