// The texts that a command works on: its arguments, the lines of a file, or those of stdin.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/program/options.h"

namespace weft::program {

class TextInputs {
 public:
  /// Adds the argument `name` in its place (several texts) and --input, a file with a text on each
  /// line. Where neither is given, stdin is read. `what` says in the help what the texts are.
  void add(OptionList& options, const std::string& name, const std::string& what);

  /// The texts, UTF-8 of every line as it is, blank ones too, without a carriage return at its end.
  /// Throws UsageError where arguments and a file are given, where there is nothing to read (stdin
  /// is empty, or a terminal), IoError and FormatError as read_utf8_file.
  std::vector<std::string> read() const;
  /// Whether they come from a file or stdin: many, of which speed is worth saying.
  bool many() const { return texts_.empty(); }

 private:
  std::string name_;
  std::vector<std::string> texts_;
  std::string file_;
};

/// The lines of a text, each without its line feed and a carriage return in front of it.
std::vector<std::string> lines_of(std::string_view text);

/// Says on stderr how fast something went, once it is done.
class SpeedReport {
 public:
  SpeedReport() : start_(std::chrono::steady_clock::now()) {}
  /// "1,000 texts, 12,345 tokens in 1.23 s: 813 texts/s, 10.0k tokens/s"; no tokens: without them.
  void done(std::string_view unit, std::int64_t texts, std::int64_t tokens = 0) const;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace weft::program
