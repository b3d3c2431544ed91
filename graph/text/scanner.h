// Characters to words: what the parser of graph text reads with.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Walks over text; blanks, line ends and "//" comments separate words and mean nothing else. Every
/// failure is a FormatError "file:line:column: expected ..., found ...".
class Scanner {
 public:
  Scanner(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  /// Throws FormatError at `position` (default: here).
  [[noreturn]] void fail(std::string_view message) const { fail_at(position_, message); }
  [[noreturn]] void fail_at(std::size_t position, std::string_view message) const;
  [[noreturn]] void expected(std::string_view what);

  std::size_t position();  // of the next word
  /// Reads on from an earlier position.
  void back_to(std::size_t position) { position_ = position; }
  int line_of(std::size_t position) const;
  bool at_end();
  char peek();  // first character of the next word; '\0' at the end
  /// Takes a punctuation mark such as "(" or "==".
  bool take(std::string_view mark);
  void expect(std::string_view mark);
  /// Takes this very word (letters and digits).
  bool take_word(std::string_view word);
  /// Letters, digits and '_'.
  std::string_view word(std::string_view what);
  /// A plain or quoted name.
  std::string name(std::string_view what);
  std::string quoted(std::string_view what);
  /// A number: everything up to a blank or one of ",]}" (with "nan(...)" as a whole).
  std::string_view number(std::string_view what);
  /// An expression of dims: up to one of `stops` outside of parentheses, or the end of the line.
  std::string_view expression(std::string_view stops);

 private:
  void skip();

  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0;
  // Lines are counted on from the place that was asked for last: every node asks for its own.
  mutable std::size_t counted_to_ = 0;
  mutable int line_ = 1;  // of that place
};

}  // namespace weft
