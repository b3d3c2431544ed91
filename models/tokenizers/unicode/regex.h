// Regular expressions over UTF-8, based on PCRE2 with its JIT compiler.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A compiled pattern. Immutable; may be shared by threads. Patterns have the syntax of
/// tokenizer.json (Oniguruma's, where it agrees with PCRE2's): \s is White_Space, \w is a letter,
/// mark, digit or connector, and a nested character class is the union with the outer one.
class Regex {
 public:
  /// Throws FormatError for an invalid pattern, or for one whose meaning differs in PCRE2.
  explicit Regex(const std::string& pattern);

  /// Iterates over the matches in a text from left to right. Matches do not overlap.
  class Matches {
   public:
    /// `text` must be valid UTF-8.
    explicit Matches(const Regex& regex, std::string_view text = {});
    ~Matches();
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    /// Starts over with another text. Match data is allocated once and reused for all texts.
    void restart(std::string_view text);
    /// Finds the next match; returns false if there is none. Throws DataError if matching exceeds
    /// PCRE2's limits, or if the pattern matches backwards.
    bool next();
    std::size_t begin() const { return begin_; }
    std::size_t end() const { return end_; }

   private:
    const Regex& regex_;
    std::string_view text_;
    void* data_;
    std::size_t begin_ = 0, end_ = 0;  // the last match
    bool matched_ = false;             // there has been a match
  };

 private:
  std::shared_ptr<const void> code_;
  std::string pattern_;
};

/// Returns a pattern that matches exactly `text`.
std::string quoted_for_regex(std::string_view text);

}  // namespace weft
