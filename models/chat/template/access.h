// Attributes, items and slices.
#pragma once

#include <string_view>

#include "weft/models/chat/template/run.h"
#include "weft/models/chat/template/value.h"

namespace weft::chat {

/// Returns value.name; undefined if there is no such attribute. Throws DataError for an undefined
/// value.
Value attribute_of(Run& run, const Value& value, std::string_view name);
/// Returns value[key]; undefined if there is no such item. Throws DataError for an undefined value.
Value item_of(Run& run, const Value& value, const Value& key);
/// Returns value[begin:end:step], where None stands for an omitted bound. Throws DataError for a
/// value that cannot be sliced.
Value slice_of(Run& run, const Value& value, const Value& begin, const Value& end,
               const Value& step);
/// Returns the value at a path as in map(attribute=...): names and numbers separated by dots.
Value path_of(Run& run, const Value& value, const Value& path);

}  // namespace weft::chat
