// The texts that a command works on: its arguments, the lines of a file, or those of stdin.
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
  /// Adds the argument `name` in its place (several texts) and --input, a file with a text on each
  /// line. Where neither is given, stdin is read. `what` says in the help what the texts are.
  void add(OptionList& options, const std::string& name, const std::string& what);

  /// The texts, UTF-8 of every line as it is, blank ones too, without a carriage return at its end.
  /// Throws UsageError where arguments and a file are given, where there is nothing to read (stdin
  /// is empty, or a terminal), DataError for an empty file, IoError and FormatError as
  /// read_utf8_file.
  std::vector<std::string> read() const;
  /// The same on every rank: the first one reads. Throws as together() where it cannot.
  std::vector<std::string> read(const World& world) const;
  /// Whether they come from a file or stdin: many, of which speed is worth saying.
  bool many() const { return texts_.empty(); }
  /// Whether read() reads stdin.
  bool reads_stdin() const;
  /// What messages call a text: "reviews.txt, line 3", "text 3", or "the text" where it is alone.
  std::string place(std::size_t text) const;

 private:
  std::string name_;
  std::vector<std::string> texts_;
  std::string file_;
};

/// What messages call one of several texts.
using PlaceOf = std::function<std::string(std::size_t text)>;
/// "FILE, line 3".
PlaceOf lines_in(const std::string& file);

/// Calls `use`; what is wrong with one of its texts is said with the text's place.
template <class Use>
auto with_places(const PlaceOf& place, Use&& use) {
  try {
    return use();
  } catch (const TextError& e) {
    throw DataError(fmt::format("{}: {}", place(e.text()), e.reason()));
  }
}

/// --truncate: texts that are longer than the model reads are cut, and it is said which.
class TruncateOption {
 public:
  /// `part` says in the help what is cut off.
  void add(OptionList& options, const std::string& part = "the end");

  /// Listens; of nobody without --truncate.
  OnCut on_cut();
  /// Says on stderr what was cut; `part` is what is read of it: "the first".
  void report(const PlaceOf& place, std::string_view part) const;

 private:
  bool given_ = false;
  std::vector<CutText> cut_;
};

/// The lines of a file; "-" is stdin. Throws as read_utf8_file.
std::vector<std::string> read_lines(const std::string& file);
/// What `read` gives on the first rank, on every rank. Throws as together() where it cannot.
std::vector<std::string> texts_of_first(const World& world,
                                        FunctionRef<std::vector<std::string>()> read);
/// The lines of a text, each without its line feed and a carriage return in front of it.
std::vector<std::string> lines_of(std::string_view text);

/// "1 text", "1,000 texts"; `unit` is the plural with an s.
std::string counted(std::int64_t count, std::string_view unit);

/// Says on stderr how fast something went, once it is done.
class SpeedReport {
 public:
  SpeedReport() : start_(std::chrono::steady_clock::now()) {}
  /// "1,000 texts, 12,345 tokens in 1.23 s: 813 texts/s, 10.0k tokens/s"; no tokens: without them.
  /// `unit` is the plural with an s.
  void done(std::string_view unit, std::int64_t texts, std::int64_t tokens = 0) const;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace weft::program
