// The texts that a command works on: its arguments, the lines of a file, or the lines of stdin.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/world.h"
#include "weft/models/program/options.h"
#include "weft/models/trained/long_texts.h"

namespace weft::program {

class TextInputs {
 public:
  /// Adds the positional argument `name` (several texts) and --input, a file with one text per
  /// line. If neither is given, stdin is read. `what` describes the texts in the help.
  void add(OptionList& options, const std::string& name, const std::string& what);

  /// Returns the texts. Every line is a text in UTF-8, blank lines included, without a carriage
  /// return at its end. Throws UsageError if both arguments and a file are given, or if there is
  /// nothing to read (stdin is empty, or a terminal); DataError for an empty file; IoError and
  /// FormatError as read_utf8_file.
  std::vector<std::string> read() const;
  /// As above, on every rank: rank 0 reads. Throws as on_all_ranks() if that fails.
  std::vector<std::string> read(const World& world) const;
  /// True if the texts come from a file or stdin: there may be many, so the speed is reported.
  bool many() const { return texts_.empty(); }
  /// True if read() reads stdin.
  bool reads_stdin() const;
  /// Returns the name of a text for messages: "reviews.txt, line 3", "text 3", or "the text" if it
  /// is the only one.
  std::string place(std::size_t text) const;

 private:
  std::string name_;
  std::vector<std::string> texts_;
  std::string file_;
};

/// Returns the name of one of several texts for messages.
using PlaceOf = std::function<std::string(std::size_t text)>;
/// Names texts by their lines in a file: "FILE, line 3".
PlaceOf lines_in(const std::string& file);

/// Calls `use`. An error in one of its texts is rethrown with the name of the text.
template <class Use>
auto with_places(const PlaceOf& place, Use&& use) {
  try {
    return use();
  } catch (const TextError& e) {
    throw DataError(fmt::format("{}: {}", place(e.text()), e.reason()));
  }
}

/// The option --truncate: texts longer than the context of the model are truncated and reported.
class TruncateOption {
 public:
  /// `part` names the part that is cut off, for the help.
  void add(OptionList& options, const std::string& part = "the end");

  /// Returns the truncation callback, or an empty function without --truncate.
  OnCut on_cut();
  /// Prints the truncated texts to stderr. `part` names the part that was kept: "the first".
  void report(const PlaceOf& place, std::string_view part) const;

 private:
  bool given_ = false;
  std::vector<CutText> cut_;
};

/// Returns the lines of a file; "-" is stdin. Throws as read_utf8_file.
std::vector<std::string> read_lines(const std::string& file);
/// Returns on every rank what `read` returns on rank 0. Throws as on_all_ranks() if `read` fails.
std::vector<std::string> texts_of_first(const World& world,
                                        FunctionRef<std::vector<std::string>()> read);
/// Splits a text into lines, without their line endings (LF or CRLF).
std::vector<std::string> lines_of(std::string_view text);

/// Formats a count: "1 text", "1,000 texts". `unit` is a plural that ends in "s".
std::string counted(std::int64_t count, std::string_view unit);

/// Measures the time from its construction, and prints the throughput to stderr.
class SpeedReport {
 public:
  SpeedReport() : start_(std::chrono::steady_clock::now()) {}
  /// Prints "1,000 texts, 12,345 tokens in 1.23 s: 813 texts/s, 10.0k tokens/s". If `tokens` is 0,
  /// they are left out. `unit` is a plural that ends in "s".
  void done(std::string_view unit, std::int64_t texts, std::int64_t tokens = 0) const;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace weft::program
