// Runs a program in a pseudo-terminal to test its output and its response to typed input.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/unicode/utf8.h"

namespace weft::testing {

class Terminal {
 public:
  /// If `piped`, the program reads its input from a pipe, as if another program wrote it.
  explicit Terminal(std::vector<std::string> command, bool piped = false) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int pipe_ends[2] = {-1, -1};
    if (piped && pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot create a pipe");
    process_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (process_ < 0) throw std::runtime_error("cannot create a pseudo-terminal");
    if (process_ == 0) {
      if (piped) dup2(pipe_ends[0], STDIN_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    keyboard_ = piped ? pipe_ends[1] : terminal_;
    if (piped) close(pipe_ends[0]);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    if (keyboard_ != terminal_) close(keyboard_);
    close(terminal_);
  }

  void type(const std::string& keys) { write_all(keyboard_, keys); }
  /// Types Ctrl-C, which the terminal converts to SIGINT.
  void interrupt() { write_all(terminal_, "\x03"); }
  /// Types Ctrl-D, which closes the input.
  void end() { write_all(terminal_, "\x04"); }
  /// Returns the output up to and including `text`. Fails if it does not appear within 60 seconds.
  std::string until(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      const std::size_t found = shown_.find(text);
      if (found != std::string::npos) {
        const std::string part = shown_.substr(0, found + text.size());
        shown_.erase(0, part.size());
        return part;
      }
      if (std::chrono::steady_clock::now() > deadline || !read_more())
        BOOST_FAIL("'" << text << "' is missing in the output '" << shown_ << "'");
    }
  }
  /// Waits until the program has ended and returns the rest of its output.
  std::string rest() {
    while (read_more()) {
    }
    return std::exchange(shown_, {});
  }
  /// Waits for the end of the program and returns its exit code.
  int wait() {
    int status = 0;
    waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Returns true if the output ended with a complete UTF-8 character after every read.
  bool whole_characters() const { return whole_; }

 private:
  static void write_all(int file, const std::string& bytes) {
    BOOST_REQUIRE_EQUAL(write(file, bytes.data(), bytes.size()), std::ssize(bytes));
  }
  /// Returns false at the end of the output.
  bool read_more() {
    pollfd waiting{terminal_, POLLIN, 0};
    constexpr int kSecond = 1000;
    if (poll(&waiting, 1, kSecond) == 0) return true;
    char bytes[4096];
    const ssize_t size = read(terminal_, bytes, sizeof bytes);
    if (size <= 0) return false;  // EIO: no process has the terminal open
    shown_.append(bytes, static_cast<std::size_t>(size));
    whole_ = whole_ && unfinished_bytes(shown_) == 0;
    return true;
  }

  int terminal_ = -1, keyboard_ = -1;
  pid_t process_ = -1;
  std::string shown_;
  bool whole_ = true;
};

}  // namespace weft::testing
