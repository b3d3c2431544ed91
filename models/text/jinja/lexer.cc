#include "weft/models/text/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/jinja/python_characters.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft::chat {
namespace {

constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20;
// Scopes compare names, so the limit bounds the time of a step.
constexpr std::size_t kMaxNameBytes = 256;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

/// Converts all line breaks to "\n" and removes the line break at the end of the template.
std::string with_normalised_line_ends(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source)
      : source_(with_normalised_line_ends(source)), text_(source_) {}

  std::vector<Token> tokens() {
    while (at_ < text_.size()) data();
    add(Token::Kind::end, "", at_);
    return std::move(tokens_);
  }

 private:
  using Kind = Token::Kind;

  // Returns the line and column of the offset `at`. Offsets must be passed in ascending order.
  Place place(std::size_t at) {
    for (; placed_ < at; ++placed_) {
      if (text_[placed_] == '\n') {
        ++place_.line;
        line_begin_ = placed_ + 1;
      }
    }
    place_.column = static_cast<std::uint32_t>(at - line_begin_ + 1);
    return place_;
  }
  Place place_of(std::size_t at) const {
    const std::string_view before = text_.substr(0, at);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    return {static_cast<std::uint32_t>(lines + 1),
            static_cast<std::uint32_t>(at - (before.rfind('\n') + 1) + 1)};
  }
  void add(Kind kind, std::string text, std::size_t at) {
    tokens_.push_back({kind, std::move(text), place(at)});
  }
  std::string_view rest() const { return text_.substr(at_); }
  void skip_spaces() { at_ += strip(rest(), Ends::left).begin; }

  /// Reads the text before the next tag, and then the tag itself.
  void data() {
    std::size_t tag = text_.find('{', at_);
    while (tag != std::string_view::npos &&
           (tag + 1 == text_.size() ||
            std::string_view("{%#").find(text_[tag + 1]) == std::string_view::npos))
      tag = text_.find('{', tag + 1);
    const std::size_t begin = at_;
    if (tag == std::string_view::npos) {
      add(Kind::data, std::string(text_.substr(begin)), begin);
      at_ = text_.size();
      return;
    }
    const char type = text_[tag + 1];
    at_ = tag + 2;
    char sign = 0;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) sign = text_[at_++];
    std::string_view before = text_.substr(begin, tag - begin);
    if (sign == '-') {
      before = before.substr(0, strip(before, Ends::right).end);
    } else if (sign != '+' && type != '{') {
      // start of the last line; 0 if there is no line break
      const std::size_t line = before.rfind('\n') + 1;
      if ((line > 0 || line_starts_) &&
          strip(before.substr(line), Ends::left).begin == before.size() - line)
        before = before.substr(0, line);
    }
    if (!before.empty()) add(Kind::data, std::string(before), begin);
    if (type == '%') {
      // The contents of a raw block cannot be split into tokens.
      const std::size_t name = at_ + strip(rest(), Ends::left).begin;
      if (text_.substr(name).starts_with("raw") &&
          (name + 3 == text_.size() || !is_name_part(text_[name + 3])))
        fail_template(place_of(tag), "has the statement 'raw', which is not supported");
    }
    if (type == '#') {
      comment(tag);
    } else {
      add(type == '{' ? Kind::variable_begin : Kind::block_begin, "", tag);
      this->tag(type == '{', tag);
    }
  }

  /// Skips the whitespace that a tag removes from the text after it.
  void finish_tag(bool strips, bool trims_line) {
    const std::size_t end = at_;
    if (strips) {
      skip_spaces();
    } else if (trims_line && rest().starts_with('\n')) {
      ++at_;
    }
    line_starts_ = at_ > end && text_[at_ - 1] == '\n';
  }

  void comment(std::size_t begin) {
    const std::size_t end = text_.find("#}", at_);
    if (end == std::string_view::npos)
      fail_template(place_of(begin), "has an unterminated comment");
    // The "-" or "+" before the end of the comment, unless it belongs to the start "{#-" or "{#+".
    const char sign = end > at_ ? text_[end - 1] : '\0';
    at_ = end + 2;
    finish_tag(sign == '-', sign != '+');
  }

  void tag(bool variable, std::size_t begin) {
    std::string open;  // open brackets
    const std::string_view ending = variable ? "}}" : "%}";
    while (true) {
      skip_spaces();
      if (at_ == text_.size()) fail_template(place_of(begin), "has an unterminated tag");
      if (open.empty() && ends_tag(ending, variable)) return;
      token(open);
    }
  }

  /// Reads one of "-}}", "}}", "-%}", "+%}" and "%}". Returns false if there is no such end of a
  /// tag.
  bool ends_tag(std::string_view ending, bool variable) {
    const std::size_t begin = at_;
    const char sign = text_[at_] == '-' || (text_[at_] == '+' && !variable) ? text_[at_] : '\0';
    if (!text_.substr(at_ + (sign != 0 ? 1 : 0)).starts_with(ending)) return false;
    add(variable ? Kind::variable_end : Kind::block_end, "", begin);
    at_ += ending.size() + (sign != 0 ? 1 : 0);
    finish_tag(sign == '-', !variable && sign != '+');
    return true;
  }

  void token(std::string& open) {
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (is_digit(c)) {
      number();
    } else if (is_name_start(c)) {
      while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
      if (at_ - begin > kMaxNameBytes)
        fail_template(place_of(begin), fmt::format("has a name of {} bytes; the limit is {}",
                                                   at_ - begin, kMaxNameBytes));
      add(Kind::name, std::string(text_.substr(begin, at_ - begin)), begin);
    } else if (c == '"' || c == '\'') {
      literal(c);
    } else {
      symbol(open);
    }
  }

  /// Returns the number of characters in the run of digits at `at`. Single "_" characters are
  /// allowed between digits.
  std::size_t digits(std::size_t at) const {
    const std::size_t begin = at;
    while (at < text_.size() &&
           (is_digit(text_[at]) || (text_[at] == '_' && at > begin && text_[at - 1] != '_' &&
                                    at + 1 < text_.size() && is_digit(text_[at + 1]))))
      ++at;
    return at - begin;
  }

  void number() {
    const std::size_t begin = at_;
    std::size_t end = begin + digits(begin);
    bool whole = true;
    // In "a.0.5", each number after a dot is an index.
    const bool after_dot = begin > 0 && text_[begin - 1] == '.';
    const auto more = [&](std::size_t prefix) {
      const std::size_t found = digits(end + prefix);
      if (found > 0) end += prefix + found;
      if (found > 0) whole = false;
      return found > 0;
    };
    if (!after_dot) {
      if (text_.substr(end).starts_with('.')) more(1);
      if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
        const bool has_sign =
            end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
        more(has_sign ? 2 : 1);
      }
    }
    std::string digits_only(text_.substr(begin, end - begin));
    std::erase(digits_only, '_');
    if (whole && digits_only.size() > 1 && digits_only.front() == '0' &&
        digits_only.find_first_not_of('0') != std::string::npos)
      fail_template(place_of(begin),
                    fmt::format("has the number '{}', which starts with 0", excerpt(digits_only)));
    if (end < text_.size() && is_name_part(text_[end]))
      fail_template(place_of(begin), fmt::format("has '{}', which is not a decimal number",
                                                 excerpt(text_.substr(begin, end + 1 - begin))));
    at_ = end;
    add(whole ? Kind::integer : Kind::floating, std::move(digits_only), begin);
  }

  void literal(char quote) {
    const std::size_t begin = at_++;
    std::string text;
    while (true) {
      if (at_ >= text_.size()) fail_template(place_of(begin), "has an unterminated string");
      const char c = text_[at_++];
      if (c == quote) break;
      if (c == '\\') {
        escape(text);
      } else {
        text += c;
      }
    }
    add(Kind::text, std::move(text), begin);
  }

  /// Resolves the escape sequence after a backslash in the same way as Python.
  void escape(std::string& text) {
    if (at_ >= text_.size()) return;  // literal() reports the missing end
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const std::size_t begin = at_ - 1;
    const char c = text_[at_++];
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      text += kMeanings[known];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t size = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      append_code(text, begin, text_.substr(at_, size), size, 16);
    } else if (c >= '0' && c <= '7') {
      std::size_t size = 1;
      while (size < 3 && at_ - 1 + size < text_.size() && text_[at_ - 1 + size] >= '0' &&
             text_[at_ - 1 + size] <= '7')
        ++size;
      --at_;
      append_code(text, begin, text_.substr(at_, size), size, 8);
    } else if (c == 'N') {
      fail_template(place_of(begin),
                    "has the escape '\\N' (a named character), which is not supported");
    } else if (c != '\n') {  // a backslash at the end of a line is a line continuation
      text += '\\';
      text += c;
    }
  }

  void append_code(std::string& text, std::size_t begin, std::string_view digits, std::size_t size,
                   int base) {
    std::uint32_t code = 0;
    bool valid = digits.size() == size;
    for (const char digit : digits) {
      const std::size_t value =
          std::string_view("0123456789abcdef")
              .find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit);
      valid = valid && value != std::string_view::npos && static_cast<int>(value) < base;
      if (valid) code = code * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(value);
    }
    if (!valid || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail_template(place_of(begin), fmt::format("has '{}', which is not a valid character",
                                                 excerpt(text_.substr(begin, 2 + digits.size()))));
    append_utf8(text, code);
    at_ += size;
  }

  void symbol(std::string& open) {
    constexpr std::array<std::string_view, 28> kSymbols = {
        "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[", "]",
        "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "!", ""};
    const auto found = std::find_if(kSymbols.begin(), kSymbols.end(), [&](std::string_view symbol) {
      return rest().starts_with(symbol);
    });
    const std::size_t begin = at_;
    if (found->empty() || *found == "!") {
      fail_template(place_of(begin),
                    fmt::format("has '{}', which is not valid in an expression",
                                excerpt(rest().substr(0, character_size(text_[at_])))));
    }
    const char c = found->front();
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c)
        fail_template(place_of(begin), fmt::format("has an unmatched '{}'", c));
      open.pop_back();
    }
    at_ += found->size();
    add(Kind::symbol, std::string(*found), begin);
  }

  const std::string source_;
  const std::string_view text_;
  std::size_t at_ = 0;
  // True if the next character is at the start of a line.
  bool line_starts_ = true;
  std::vector<Token> tokens_;
  Place place_;
  std::size_t placed_ = 0, line_begin_ = 0;
};

}  // namespace

void fail_template(Place place, std::string_view what) {
  throw FormatError(fmt::format("the chat template {} ({})", what, describe(place)));
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::data: return "text";
    case Token::Kind::variable_begin: return "'{{'";
    case Token::Kind::variable_end: return "'}}'";
    case Token::Kind::block_begin: return "'{%'";
    case Token::Kind::block_end: return "'%}'";
    case Token::Kind::end: return "the end";
    default: return "'" + excerpt(token.text, 40) + "'";
  }
}

std::vector<Token> tokenize(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    throw FormatError(fmt::format("the chat template has {} bytes; the limit is {}", source.size(),
                                  kMaxTemplateBytes));
  }
  if (const std::size_t broken = find_invalid_utf8(source); broken < source.size())
    throw FormatError(fmt::format("the chat template is not UTF-8 at byte {}", broken));
  return Lexer(source).tokens();
}

}  // namespace weft::chat
