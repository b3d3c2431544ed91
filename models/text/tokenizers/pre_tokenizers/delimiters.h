// Functions for splitting texts at delimiters: whitespace, punctuation or matches of a pattern.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/models/fields/choice.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/regex.h"

namespace WEFT_API weft {
namespace pre_tokenizers {

/// Specifies how delimiters are handled.
enum class Delimiter : std::uint8_t {
  removed,          // dropped
  isolated,         // a separate part
  merged_previous,  // appended to the preceding part
  merged_next,      // prepended to the following part
  contiguous        // adjacent delimiters form one part
};
inline constexpr std::array<std::string_view, 5> kDelimiterNames = {
    "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
inline ChoiceNames choice_names(Delimiter) { return {"behavior", kDelimiterNames}; }

/// Forms parts from the delimiters of a text and the ranges between them, which must be added from
/// left to right, and calls `emit(begin, end)` for each part.
template <class Emit>
class DelimiterParts {
 public:
  DelimiterParts(Delimiter behaviour, const Emit& emit) : behaviour_(behaviour), emit_(emit) {}

  void add(std::size_t begin, std::size_t end, bool is_delimiter) {
    switch (behaviour_) {
      case Delimiter::removed:
        if (!is_delimiter) emit_(begin, end);
        break;
      case Delimiter::isolated: emit_(begin, end); break;
      case Delimiter::contiguous: join(begin, end, open_ && is_delimiter == was_delimiter_); break;
      case Delimiter::merged_previous:
        join(begin, end, open_ && is_delimiter && !was_delimiter_);
        break;
      case Delimiter::merged_next:
        join(begin, end, open_ && was_delimiter_ && !is_delimiter);
        break;
    }
    was_delimiter_ = is_delimiter;
  }
  void finish() {
    if (open_) emit_(begin_, end_);
    open_ = false;
  }

 private:
  void join(std::size_t begin, std::size_t end, bool with_last) {
    if (!with_last) {
      finish();
      begin_ = begin;
      open_ = true;
    }
    end_ = end;
  }

  Delimiter behaviour_;
  const Emit& emit_;
  std::size_t begin_ = 0, end_ = 0;
  bool open_ = false, was_delimiter_ = false;
};

/// Splits `text` at each character for which `is_delimiter` returns true.
template <class IsDelimiter, class Emit>
void split_at_characters(std::string_view text, Delimiter behaviour,
                         const IsDelimiter& is_delimiter, const Emit& emit) {
  DelimiterParts<Emit> parts(behaviour, emit);
  std::size_t last = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (!is_delimiter(take_character(text, at))) continue;
    if (last < begin) parts.add(last, begin, false);
    parts.add(begin, at, true);
    last = at;
  }
  if (last < text.size()) parts.add(last, text.size(), false);
  parts.finish();
}

/// Splits `text` at each match. If `invert` is true, the ranges between the matches are the
/// delimiters.
template <class Emit>
void split_at_matches(std::string_view text, Delimiter behaviour, Regex::Matches& match,
                      bool invert, const Emit& emit) {
  DelimiterParts<Emit> parts(behaviour, emit);
  std::size_t last = 0;
  for (match.restart(text); match.next();) {
    if (last != match.begin()) parts.add(last, match.begin(), invert);
    parts.add(match.begin(), match.end(), !invert);
    last = match.end();
  }
  if (last != text.size()) parts.add(last, text.size(), invert);
  parts.finish();
}

}  // namespace pre_tokenizers
}  // namespace weft
