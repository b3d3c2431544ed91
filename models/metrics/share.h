// Shares of counts.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// part / whole; 0 where there is nothing.
inline double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The harmonic mean of precision and recall, 2 / (1 / precision + 1 / recall), from counts: of
/// what was found, what there is and what is both. 0 where there is nothing.
inline double f1_of_counts(std::int64_t right, std::int64_t found, std::int64_t truth) {
  return share(2 * right, found + truth);
}

}  // namespace weft
