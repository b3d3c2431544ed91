// Scanner: splits the characters of graph text into tokens.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Scans text from beginning to end. Whitespace and "//" comments separate tokens and are otherwise
/// ignored. All errors are FormatErrors with the message "file:line:column: expected ..., found
/// ...".
class Scanner {
 public:
  Scanner(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  /// Throws FormatError with the current position.
  [[noreturn]] void fail(std::string_view message) const { fail_at(position_, message); }
  /// Throws FormatError with the given position.
  [[noreturn]] void fail_at(std::size_t position, std::string_view message) const;
  /// Throws FormatError with the message "expected `what`, found ..." for the next token.
  [[noreturn]] void expected(std::string_view what);

  /// Returns the position of the next token.
  std::size_t position();
  /// Continues from an earlier position.
  void back_to(std::size_t position) { position_ = position; }
  /// Returns the line number of a position, counted from 1.
  int line_of(std::size_t position) const;
  bool at_end();
  /// Returns the first character of the next token, or '\0' at the end.
  char peek();
  /// Consumes a punctuation mark such as "(" or "==". Returns false if it is not next.
  bool take(std::string_view mark);
  /// Consumes a punctuation mark, or throws FormatError.
  void expect(std::string_view mark);
  /// Consumes the given word. Returns false if it is not next.
  bool take_word(std::string_view word);
  // The functions below consume a token and return it. If the next token has a different form, they
  // throw FormatError with the message "expected `what`, found ...".

  /// A word: letters, digits and '_'.
  std::string_view word(std::string_view what);
  /// A plain or quoted name.
  std::string name(std::string_view what);
  /// A string in double quotes, with escapes resolved.
  std::string quoted(std::string_view what);
  /// A number: everything up to whitespace or one of ",]}()", where "nan(...)" is one token.
  std::string_view number(std::string_view what);
  /// An expression of dims: everything up to one of `stops` outside of parentheses, a comment, or
  /// the end of the line.
  std::string_view expression(std::string_view stops);

 private:
  void skip();

  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0;
  // Cache for line_of(): the last position and its line. line_of() is called for every node, so
  // lines are counted from this position.
  mutable std::size_t counted_to_ = 0;
  mutable int line_ = 1;
};

}  // namespace weft
