// Values as text: str(), repr() and json.dumps() of Python.
#pragma once

#include <optional>
#include <string>

#include "weft/models/chat/template/run.h"
#include "weft/models/chat/template/value.h"

namespace weft::chat {

/// Appends what {{ value }} shows. Throws DataError for what has no form that a template could mean
/// (functions, namespaces, iterators).
void print(Run& run, const Value& value, TracedText& out);
/// The same alone; a text is itself.
TextPtr printed(Run& run, const Value& value);
/// As Python shows a value within a list.
void print_inner(Run& run, const Value& value, TracedText& out);

struct JsonStyle {
  bool ascii = false;  // \u00e9 for all that is not ASCII
  bool sort_keys = false;
  std::optional<std::string> indent = {};  // of one level
  std::string item_separator = ", ", key_separator = ": ";
};
/// Throws DataError for what has no JSON.
TracedText to_json(Run& run, const Value& value, const JsonStyle& style);

/// Floats as Python writes them.
std::string float_text(double value);

}  // namespace weft::chat
