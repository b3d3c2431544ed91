// Lines typed at stdin, with race-free Ctrl-C handling.
#pragma once

#include <cstddef>
#include <string>

namespace weft::program {

/// A line of stdin, or the reason why there is no line.
struct TypedLine {
  enum class Kind { text, interrupted, end } kind = Kind::end;
  std::string text = {};  ///< without its line ending
};

/// Reads stdin line by line, and handles Ctrl-C (SIGINT) from its construction on. Code that runs
/// between two lines polls interrupted(). A program has only one instance.
class TypedLines {
 public:
  /// Throws IoError if a pipe cannot be created.
  TypedLines();

  /// Returns the next line. A pending Ctrl-C is returned first, whether it arrived before this call
  /// or while the call waited. Throws IoError if stdin cannot be read, and for a line of more than
  /// 16 MiB, because some inputs never end.
  TypedLine next();
  /// True if Ctrl-C was pressed since the last take_interrupt().
  static bool interrupted();
  /// As interrupted(), and resets it.
  static bool take_interrupt();

 private:
  bool wait();  // waits for bytes or Ctrl-C; returns false at the end of stdin

  std::string read_;          // bytes after the lines that were returned
  std::size_t searched_ = 0;  // bytes of read_ that contain no line ending
};

}  // namespace weft::program
