#include "weft/graph/text/scanner.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/text/literal.h"

namespace weft {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void Scanner::fail_at(std::size_t position, std::string_view message) const {
  position = std::min(position, text_.size());
  const std::size_t line_start = text_.substr(0, position).rfind('\n');
  const std::size_t column =
      line_start == std::string_view::npos ? position : position - line_start - 1;
  // Limits the length of the message, because a name or a shape may be as long as the text.
  constexpr std::size_t kMaxBytes = 1000;
  throw FormatError(fmt::format("{}:{}:{}: {}", file_, line_of(position), column + 1,
                                as_utf8(message, kMaxBytes)));
}

void Scanner::expected(std::string_view what) {
  skip();
  if (position_ >= text_.size()) fail(fmt::format("expected {}, found the end of the text", what));
  std::size_t end = position_;
  while (end < text_.size() && in_word(text_[end]) && end - position_ < 40) ++end;
  end = std::max(end, position_ + 1);
  fail(fmt::format("expected {}, found {}", what, quote(text_.substr(position_, end - position_))));
}

int Scanner::line_of(std::size_t position) const {
  const auto lines = [&](std::size_t begin, std::size_t end) {
    const std::string_view between = text_.substr(begin, end - begin);
    return static_cast<int>(std::count(between.begin(), between.end(), '\n'));
  };
  line_ = position >= counted_to_ ? line_ + lines(counted_to_, position)
                                  : line_ - lines(position, counted_to_);
  counted_to_ = position;
  return line_;
}

void Scanner::skip() {
  for (;;) {
    while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
    if (text_.substr(position_, 2) != "//") return;
    position_ = std::min(text_.find('\n', position_), text_.size());
  }
}

std::size_t Scanner::position() {
  skip();
  return position_;
}

bool Scanner::at_end() {
  skip();
  return position_ >= text_.size();
}

char Scanner::peek() {
  skip();
  return position_ < text_.size() ? text_[position_] : '\0';
}

bool Scanner::take(std::string_view mark) {
  skip();
  if (text_.substr(position_, mark.size()) != mark) return false;
  position_ += mark.size();
  return true;
}

void Scanner::expect(std::string_view mark) {
  if (!take(mark)) expected(fmt::format("\"{}\"", mark));
}

bool Scanner::take_word(std::string_view word) {
  skip();
  const std::size_t end = position_ + word.size();
  if (text_.substr(position_, word.size()) != word) return false;
  if (end < text_.size() && in_word(text_[end])) return false;
  position_ = end;
  return true;
}

std::string_view Scanner::word(std::string_view what) {
  skip();
  const std::size_t start = position_;
  while (position_ < text_.size() && in_word(text_[position_])) ++position_;
  if (position_ == start) expected(what);
  return text_.substr(start, position_ - start);
}

std::string Scanner::name(std::string_view what) {
  if (peek() == '"') return quoted(what);
  const std::size_t start = position_;
  while (position_ < text_.size() && continues_plain_name(text_[position_]) &&
         text_.substr(position_, 2) != "//") {
    ++position_;
  }
  const std::string_view found = text_.substr(start, position_ - start);
  if (!is_plain_name(found)) {
    position_ = start;
    expected(what);
  }
  return std::string(found);
}

std::string Scanner::quoted(std::string_view what) {
  if (peek() != '"') expected(what);
  const std::size_t start = position_++;
  std::string result;
  while (position_ < text_.size() && text_[position_] != '"') {
    char c = text_[position_++];
    if (c == '\\') {
      c = position_ < text_.size() ? text_[position_++] : '\0';
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x') {
        const int high = position_ < text_.size() ? hex_digit(text_[position_]) : -1;
        const int low = position_ + 1 < text_.size() ? hex_digit(text_[position_ + 1]) : -1;
        if (high < 0 || low < 0) fail("expected two hexadecimal digits after \\x");
        c = static_cast<char>(high * 16 + low);
        position_ += 2;
      } else if (c != '"' && c != '\\') {
        fail_at(position_ - 1, "unknown escape; supported are \\\", \\\\, \\n and \\xHH");
      }
    }
    result += c;
  }
  if (position_ >= text_.size()) fail_at(start, "the string is not terminated");
  ++position_;
  return result;
}

std::string_view Scanner::number(std::string_view what) {
  skip();
  const std::size_t start = position_;
  while (position_ < text_.size() && !is_blank(text_[position_]) &&
         std::string_view(",]}()").find(text_[position_]) == std::string_view::npos) {
    ++position_;
  }
  if (position_ == start) expected(what);
  if (text_.substr(start, position_ - start) == "nan" && text_.substr(position_, 1) == "(") {
    position_ = std::min(text_.find(')', position_), text_.size() - 1) + 1;
  }
  return text_.substr(start, position_ - start);
}

std::string_view Scanner::expression(std::string_view stops) {
  skip();
  const std::size_t start = position_;
  int depth = 0;
  while (position_ < text_.size() && text_[position_] != '\n') {
    const char c = text_[position_];
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (text_.substr(position_, 2) == "//") break;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    ++position_;
  }
  std::size_t end = position_;
  while (end > start && is_blank(text_[end - 1])) --end;
  if (end == start) expected("a dim");
  return text_.substr(start, end - start);
}

}  // namespace weft
