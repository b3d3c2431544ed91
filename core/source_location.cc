#include "weft/core/source_location.h"

namespace weft {

std::string SourceLocation::str() const {
  if (!known()) return "";
  return std::string(file) + ":" + std::to_string(line);
}

}  // namespace weft
