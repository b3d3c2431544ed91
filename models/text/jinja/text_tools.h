// Functions that the string filters and string methods share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/models/text/jinja/python_characters.h"
#include "weft/models/text/jinja/run.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

/// Implements str.replace(): replaces the first `most` occurrences, or all occurrences if `most` is
/// negative.
Value replaced(Run& run, const TracedText& text, const TracedText& from, const TracedText& to,
               std::int64_t most);
/// Converts the characters of a text with `Change` and counts the work.
template <TracedText (*Change)(const TracedText&)>
Value changed_text(Run& run, const TracedText& text) {
  run.pass(Pass::convert, text.size());
  return run.text(Change(text));
}
/// Implements str.strip() and its relatives. `characters` may be none or null.
Value stripped_text(Run& run, const TracedText& text, Ends ends, const Value* characters);
/// Implements str.splitlines().
std::vector<TracedText> lines_of(Run& run, const TracedText& text);
/// Converts `items` to strings and joins them with `between`. If `texts_only` is true, throws
/// DataError for an item that is not a string.
Value joined_texts(Run& run, const std::vector<Value>& items, const TracedText& between,
                   bool texts_only);
/// Equivalents of int(text, 10) and float(text). They return std::nullopt if the text is not a
/// number.
std::optional<std::int64_t> read_integer(Run& run, const TracedText& text);
std::optional<double> read_float(Run& run, const TracedText& text);

}  // namespace weft::chat
