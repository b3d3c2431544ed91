#include "weft/models/text/unicode/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

constexpr std::size_t kLongestPattern = 65536;
constexpr int kDeepestClass = 100;
// "^" and "$" match at each line, as in Oniguruma.
constexpr std::uint32_t kOptions =
    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
// The meanings of escape sequences in the syntax of tokenizer.json, written as members of a
// character class. The escape sequences of PCRE2 differ: \s includes U+180E, and \w includes only
// letters, numbers and "_".
constexpr std::string_view kBlanks = "\\p{White_Space}", kNoBlanks = "\\P{White_Space}";
constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";

[[noreturn]] void refuse(std::string_view pattern, std::string_view why) {
  throw FormatError(fmt::format("the pattern '{}' {}", excerpt(pattern), why));
}

/// Translates a pattern to the syntax of PCRE2.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape(false);
      } else if (c == '[') {
        result_ += '[';
        ++at_;
        members(1);
        result_ += ']';
      } else {
        result_ += c;
        ++at_;
      }
    }
    return std::move(result_);
  }

 private:
  // Translates the members of a character class, from the text after its '[' to its ']'.
  void members(int depth) {
    if (depth > kDeepestClass) refuse(pattern_, "has character classes nested too deeply");
    bool first = true;
    if (at_ < pattern_.size() && pattern_[at_] == '^') {
      result_ += '^';
      ++at_;
    }
    for (; at_ < pattern_.size(); first = false) {
      const std::string_view rest = pattern_.substr(at_);
      if (rest.front() == ']' && !first) {
        ++at_;
        return;
      }
      if (rest.starts_with("&&"))
        refuse(pattern_, "intersects character classes, which is not supported");
      if (rest.front() == '\\') {
        escape(true);
      } else if (rest.starts_with("[:")) {
        const std::size_t end = rest.find(":]");
        if (end == std::string_view::npos) refuse(pattern_, "has an unterminated '[:'");
        result_ += rest.substr(0, end + 2);
        at_ += end + 2;
      } else if (rest.starts_with("[^")) {
        refuse(pattern_, "has a negated class inside a character class, which is not supported");
      } else if (rest.front() == '[') {  // a nested class: its members are added to the outer class
        ++at_;
        members(depth + 1);
      } else if (rest.front() == ']') {
        result_ += "\\]";
        ++at_;
      } else {
        result_ += rest.front();
        ++at_;
      }
    }
    refuse(pattern_, "has an unterminated character class");
  }

  void escape(bool in_class) {
    if (at_ + 1 == pattern_.size()) refuse(pattern_, "ends with a backslash");
    const char c = pattern_[at_ + 1];
    at_ += 2;
    const auto put = [&](std::string_view members, bool negated) {
      if (in_class && negated)
        refuse(pattern_,
               fmt::format("has \\{} inside a character class, which is not supported", c));
      if (in_class) {
        result_ += members;
      } else {
        result_ += fmt::format("[{}{}]", negated ? "^" : "", members);
      }
    };
    switch (c) {
      case 's': result_ += kBlanks; return;
      case 'S': result_ += kNoBlanks; return;
      case 'w': return put(kWord, false);
      case 'W': return put(kWord, true);
      case 'h': return put(kHexDigits, false);
      case 'H': return put(kHexDigits, true);
      case 'C':
        refuse(pattern_, "has \\C, which is not supported because it would split characters");
      default: result_ += '\\'; result_ += c;
    }
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string result_;
};

std::string message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

Regex::Regex(const std::string& pattern) : pattern_(pattern) {
  if (pattern.size() > kLongestPattern) refuse(pattern, "is too long");
  const std::string translated = Translation(pattern).run();
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(units(translated), translated.size(), kOptions, &error, &at, nullptr);
  if (code == nullptr) {
    refuse(pattern, fmt::format("does not compile with PCRE2: {} (at byte {} of '{}')",
                                message(error), at, excerpt(translated)));
  }
  // if there is no JIT compiler, PCRE2 interprets the pattern
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  code_ = std::shared_ptr<const void>(
      code, [](const void* p) { pcre2_code_free(static_cast<pcre2_code*>(const_cast<void*>(p))); });
}

Regex::Matches::Matches(const Regex& regex, std::string_view text)
    : regex_(regex),
      text_(text),
      data_(pcre2_match_data_create_from_pattern(static_cast<const pcre2_code*>(regex.code_.get()),
                                                 nullptr)) {
  if (data_ == nullptr) throw std::bad_alloc();
}

Regex::Matches::~Matches() { pcre2_match_data_free(static_cast<pcre2_match_data*>(data_)); }

void Regex::Matches::restart(std::string_view text) {
  text_ = text;
  begin_ = end_ = 0;
  matched_ = false;
}

bool Regex::Matches::next() {
  const auto* code = static_cast<const pcre2_code*>(regex_.code_.get());
  auto* data = static_cast<pcre2_match_data*>(data_);
  // Skip an empty match directly after the previous match.
  const std::uint32_t options = PCRE2_NO_UTF_CHECK | (matched_ ? PCRE2_NOTEMPTY_ATSTART : 0U);
  int found = pcre2_match(code, units(text_), text_.size(), end_, options, data, nullptr);
  // The JIT uses a small stack, whereas the interpreter allocates memory on the heap.
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
    found =
        pcre2_match(code, units(text_), text_.size(), end_, options | PCRE2_NO_JIT, data, nullptr);
  }
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0) {
    throw DataError(fmt::format("matching the pattern '{}' failed at byte {} of a text: {}",
                                excerpt(regex_.pattern_), end_, message(found)));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data);
  if (ends[0] > ends[1] || ends[0] < end_)
    throw DataError(
        fmt::format("a match of the pattern '{}' ends before its start", excerpt(regex_.pattern_)));
  begin_ = ends[0];
  end_ = ends[1];
  matched_ = true;
  return true;
}

std::string quoted_for_regex(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                       (c >= 'A' && c <= 'Z') || c == '_' || byte <= ' ';
    if (!plain) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace weft
