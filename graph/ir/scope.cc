#include "weft/graph/ir/scope.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

std::string Scope::join(std::string_view name) const {
  if (name.empty()) {
    throw ArgumentError(fmt::format("a name below scope '{}' cannot be empty", path_));
  }
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

}  // namespace weft
