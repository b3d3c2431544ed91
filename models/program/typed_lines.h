// Lines that are typed at stdin, and Ctrl-C, which no moment loses.
#pragma once

#include <cstddef>
#include <string>

namespace weft::program {

/// A line of stdin, or why there is none.
struct TypedLine {
  enum class Kind { text, interrupted, end } kind = Kind::end;
  std::string text = {};  ///< without its end
};

/// Reads stdin line by line, and listens to Ctrl-C (SIGINT) from its making on: whoever works
/// between two lines asks interrupted(). There is one in a program.
class TypedLines {
 public:
  /// Throws IoError where there is no pipe.
  TypedLines();

  /// The next line. A Ctrl-C that nobody has taken yet comes before it, whether it came before
  /// this call or while it waited. Throws IoError where stdin cannot be read, and for a line of
  /// more than 16 MiB: there are inputs without an end.
  TypedLine next();
  /// Whether Ctrl-C came since the last take_interrupt().
  static bool interrupted();
  /// As interrupted(), and it is answered with that.
  static bool take_interrupt();

 private:
  bool wait();  // for bytes or Ctrl-C; false at the end of stdin

  std::string read_;          // beyond the lines that were given
  std::size_t searched_ = 0;  // of it, without a line's end
};

}  // namespace weft::program
