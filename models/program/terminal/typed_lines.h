// Lines read from stdin, with race-free Ctrl-C handling.
#pragma once

#include <cstddef>
#include <string>

namespace weft::program {

/// A line from stdin, or the reason why there is no line.
struct TypedLine {
  enum class Kind { text, interrupted, end } kind = Kind::end;
  std::string text = {};  ///< without its line ending
};

/// Reads stdin line by line. Handles Ctrl-C (SIGINT) from construction on; code that runs between
/// two lines can poll interrupted(). A program must have only one instance.
class TypedLines {
 public:
  /// Throws IoError if a pipe cannot be created.
  TypedLines();

  /// Returns the next line. A pending Ctrl-C is returned first, whether it arrived before this call
  /// or while the call waited. Throws IoError if stdin cannot be read, or if a line is longer than
  /// 16 MiB (some inputs never end).
  TypedLine next();
  /// True if Ctrl-C was pressed since the last take_interrupt().
  static bool interrupted();
  /// Returns interrupted() and resets it.
  static bool take_interrupt();

 private:
  bool wait();  // waits for bytes or Ctrl-C; returns false at the end of stdin

  std::string read_;  // bytes that have been read but not returned
  /// Length of the prefix of read_ that is known to contain no line ending.
  std::size_t searched_ = 0;
};

}  // namespace weft::program
