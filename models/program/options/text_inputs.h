// The input texts of a command, which are its arguments, the lines of a file, or the lines of
// stdin.
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
#include "weft/models/inputs/long_texts.h"
#include "weft/models/program/options/options.h"

namespace weft::program {

class TextInputs {
 public:
  /// Adds the positional argument `name` (several texts) and --input, a file with one text per
  /// line. If neither is given, stdin is read. `what` describes the texts in the help.
  void add(OptionList& options, const std::string& name, const std::string& what);

  /// Returns the texts. Every line is a text in UTF-8, blank lines included, without a carriage
  /// return at its end. Throws UsageError if both arguments and a file are given, or if there is
  /// nothing to read (stdin is empty or a terminal). Throws DataError if the file is empty. Throws
  /// IoError and FormatError under the same conditions as read_utf8_file().
  std::vector<std::string> read() const;
  /// As above, but rank 0 reads the texts and every rank returns them. If reading fails, all ranks
  /// throw CommandFailed as in on_all_ranks().
  std::vector<std::string> read(const World& world) const;
  /// True if the texts come from a file or stdin. The throughput is then reported, because there
  /// may be many texts.
  bool many() const { return texts_.empty(); }
  /// True if texts were given as arguments, or a file.
  bool given() const { return !texts_.empty() || !file_.empty(); }
  /// True if read() reads stdin.
  bool reads_stdin() const;
  /// Returns the name of a text for messages, such as "reviews.txt, line 3" or "text 3". Returns
  /// "the text" if there is only one.
  std::string place(std::size_t text) const;

 private:
  std::string name_;
  std::vector<std::string> texts_;
  std::string file_;
};

/// A function that returns the name of a text for messages, given its number.
using PlaceOf = std::function<std::string(std::size_t text)>;
/// Returns a function that names texts by their line in a file: "FILE, line 3".
PlaceOf lines_in(const std::string& file);

/// Calls `use`. If it throws an error about one of the texts, the error is rethrown with the name
/// of the text.
template <class Use>
auto with_places(const PlaceOf& place, Use&& use) {
  try {
    return use();
  } catch (const TextError& e) {
    throw DataError(fmt::format("{}: {}", place(e.text()), e.reason()));
  }
}

/// The option --truncate. Texts longer than the context of the model are truncated and reported.
class TruncateOption {
 public:
  /// `part` describes the part that is cut off, for the help text.
  void add(OptionList& options, const std::string& part = "the end");

  /// Truncates and reports texts even if --truncate was not given.
  void allow() { given_ = true; }
  bool given() const { return given_; }
  /// Returns the truncation callback. Returns an empty function if --truncate was not given.
  OnCut on_cut();
  /// Lists the truncated texts on stderr. `part` describes the part that was kept, such as "the
  /// first".
  void report(const PlaceOf& place, std::string_view part) const;

 private:
  bool given_ = false;
  std::vector<CutText> cut_;
};

/// Returns the lines of a file; "-" is stdin. Throws the same errors as read_utf8_file().
std::vector<std::string> read_lines(const std::string& file);
/// Calls `read` on rank 0 and returns its result on every rank. If `read` throws, all ranks throw
/// CommandFailed as in on_all_ranks().
std::vector<std::string> texts_of_first(const World& world,
                                        FunctionRef<std::vector<std::string>()> read);
/// Splits a text into lines, without their line endings (LF or CRLF).
std::vector<std::string> lines_of(std::string_view text);

/// Formats a count: "1 text", "1,000 texts". `unit` is a plural that ends in "s".
std::string counted(std::int64_t count, std::string_view unit);

/// Measures the time since construction and prints the throughput to stderr.
class SpeedReport {
 public:
  SpeedReport() : start_(std::chrono::steady_clock::now()) {}
  /// Prints "1,000 texts, 12,345 tokens in 1.23 s: 813 texts/s, 10.0k tokens/s". If `tokens` is 0,
  /// the number of tokens is omitted. `unit` is a plural that ends in "s".
  void done(std::string_view unit, std::int64_t texts, std::int64_t tokens = 0) const;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace weft::program
