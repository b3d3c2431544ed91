// Converts values to text; equivalents of Python's str(), repr() and json.dumps().
#pragma once

#include <optional>
#include <string>

#include "weft/models/text/jinja/run.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

/// Appends the output of {{ value }}. Throws DataError for functions, namespaces and iterators,
/// because they have no useful text form.
void print(Run& run, const Value& value, TracedText& out);
/// Returns the output of {{ value }}. A string is returned unchanged.
TextPtr printed(Run& run, const Value& value);
/// Appends repr(value), the form in which Python prints a value within a list.
void print_inner(Run& run, const Value& value, TracedText& out);

struct JsonStyle {
  bool ascii = false;  // escape non-ASCII characters, for example as "\u00e9"
  bool sort_keys = false;
  std::optional<std::string> indent = {};  // indentation per level
  std::string item_separator = ", ", key_separator = ": ";
};
/// Returns json.dumps(value). Throws DataError if the value cannot be converted to JSON.
TracedText to_json(Run& run, const Value& value, const JsonStyle& style);

/// Formats a float in Python's notation.
std::string float_text(double value);

}  // namespace weft::chat
