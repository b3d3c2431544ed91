// Attributes, items and slices.
#pragma once

#include <string_view>

#include "weft/models/chat/template/run.h"
#include "weft/models/chat/template/value.h"

namespace weft::chat {

/// value.name; what is not there is undefined. Throws DataError for an undefined value.
Value attribute_of(Run& run, const Value& value, std::string_view name);
/// value[key]; the same.
Value item_of(Run& run, const Value& value, const Value& key);
/// value[begin:end:step]; none for what is left out. Throws DataError for what has no slices.
Value slice_of(Run& run, const Value& value, const Value& begin, const Value& end,
               const Value& step);
/// What map(attribute=...) reads: names and numbers with dots between them.
Value path_of(Run& run, const Value& value, const Value& path);

}  // namespace weft::chat
