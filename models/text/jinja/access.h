// Access to attributes, items and slices of values.
#pragma once

#include <string_view>

#include "weft/models/text/jinja/run.h"
#include "weft/models/text/jinja/value.h"

namespace weft::chat {

/// Returns value.name, or undefined if there is no such attribute. Throws DataError if `value` is
/// undefined.
Value attribute_of(Run& run, const Value& value, std::string_view name);
/// Returns value[key], or undefined if there is no such item. Throws DataError if `value` is
/// undefined.
Value item_of(Run& run, const Value& value, const Value& key);
/// Returns value[begin:end:step], where None represents an omitted bound. Throws DataError if the
/// value cannot be sliced.
Value slice_of(Run& run, const Value& value, const Value& begin, const Value& end,
               const Value& step);
/// Returns the value at a path in the syntax of map(attribute=...): names and numbers separated by
/// dots.
Value path_of(Run& run, const Value& value, const Value& path);

}  // namespace weft::chat
