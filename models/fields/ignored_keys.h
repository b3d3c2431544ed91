// Removal of keys from JSON files, for keys that the user ignores (ModelPath).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace weft {

/// Removes a key from an object, or from all objects of a list. In `path`, a dot separates the key
/// of an object from a key within it. Returns false if there is no such key.
bool remove_key(nlohmann::json& object, std::string_view path);

}  // namespace weft
