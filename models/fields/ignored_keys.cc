#include "weft/models/fields/ignored_keys.h"

#include <nlohmann/json.hpp>
#include <string>

namespace weft {

bool remove_key(nlohmann::json& object, std::string_view path) {
  if (object.is_array()) {
    bool removed = false;
    for (nlohmann::json& entry : object) removed |= remove_key(entry, path);
    return removed;
  }
  if (!object.is_object()) return false;
  const std::string name(path);
  if (object.erase(name) > 0) return true;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos;
       dot = path.find('.', dot + 1)) {
    const auto inner = object.find(std::string(path.substr(0, dot)));
    if (inner != object.end() && remove_key(*inner, path.substr(dot + 1))) return true;
  }
  return false;
}

}  // namespace weft
