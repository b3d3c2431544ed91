// Regular expressions over UTF-8, by PCRE2 with its JIT.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A compiled pattern. Immutable; one for several threads. Patterns are those of tokenizer.json
/// (Oniguruma's syntax, as far as both agree): \s is White_Space, \w a letter, mark, digit or
/// connector; a class within a class is part of it.
class Regex {
 public:
  /// Throws FormatError for what is no pattern, or one that means something else to PCRE2.
  explicit Regex(const std::string& pattern);

  /// Goes through the matches in a text from left to right. They do not overlap.
  class Matches {
   public:
    /// `text` must be valid UTF-8.
    explicit Matches(const Regex& regex, std::string_view text = {});
    ~Matches();
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    /// Begins with another text: several need room for their matches only once.
    void restart(std::string_view text);
    /// False at the end. Throws DataError where a text takes the pattern too long.
    bool next();
    std::size_t begin() const { return begin_; }
    std::size_t end() const { return end_; }

   private:
    const Regex& regex_;
    std::string_view text_;
    void* data_;
    std::size_t begin_ = 0, end_ = 0;  // of the last match
    bool matched_ = false;             // there has been one
  };

 private:
  std::shared_ptr<const void> code_;
  std::string pattern_;
};

/// A pattern that matches exactly `text`.
std::string quoted_for_regex(std::string_view text);

}  // namespace weft
