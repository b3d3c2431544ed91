// Shares of counts.
#pragma once

#include <cstdint>

namespace weft {

/// part / whole; 0 where there is nothing.
inline double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace weft
