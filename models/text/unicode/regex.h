// Regular expressions for UTF-8, based on PCRE2 and its JIT compiler.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A compiled pattern. Immutable and thread-safe. Patterns have the syntax of tokenizer.json, which
/// is the part of Oniguruma's syntax that agrees with PCRE2's: \s is White_Space, \w is a letter,
/// mark, digit or connector, and a nested character class forms a union with the outer class.
class Regex {
 public:
  /// Throws FormatError if the pattern is invalid or has a different meaning in PCRE2.
  explicit Regex(const std::string& pattern);

  /// Iterates from left to right over the matches in a text. Matches do not overlap.
  class Matches {
   public:
    /// `text` must be valid UTF-8.
    explicit Matches(const Regex& regex, std::string_view text = {});
    ~Matches();
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    /// Restarts with a different text. Match data is allocated once and reused for all texts.
    void restart(std::string_view text);
    /// Finds the next match. Returns false if there is none. Throws DataError if matching exceeds
    /// the limits of PCRE2, or if a match ends before its start.
    bool next();
    std::size_t begin() const { return begin_; }
    std::size_t end() const { return end_; }

   private:
    const Regex& regex_;
    std::string_view text_;
    void* data_;
    std::size_t begin_ = 0, end_ = 0;  // the last match
    bool matched_ = false;             // true after the first match
  };

 private:
  std::shared_ptr<const void> code_;
  std::string pattern_;
};

/// Returns a pattern that matches only `text`.
std::string quoted_for_regex(std::string_view text);

}  // namespace weft
