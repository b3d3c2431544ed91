// Iterates over the lines of a text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the line without leading and trailing spaces, tabs and carriage returns.
inline std::string_view trimmed_line(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

/// Calls visit(number, line) for every line, counted from 1, without its line feed. Other Unicode
/// line breaks are part of a line.
template <class Visit>
void for_lines(std::string_view text, Visit&& visit) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(++number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace weft
