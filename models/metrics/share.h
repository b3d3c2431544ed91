// Ratios of counts: fractions and F1.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns part / whole, or 0 if `whole` is 0.
inline double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Returns F1, the harmonic mean 2 / (1 / precision + 1 / recall), from counts: `right` correct
/// items, `found` predicted items and `truth` true items. Returns 0 if there are no items.
inline double f1_of_counts(std::int64_t right, std::int64_t found, std::int64_t truth) {
  return share(2 * right, found + truth);
}

}  // namespace weft
