// Figures that the program prints.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "weft/core/error.h"

namespace weft::program {

/// `value`, which was measured: NaN and infinity are no results. Throws DataError that says so of
/// `what` ("the perplexity"), so that a broken model ends a script with exit code 1.
inline double finite_figure(double value, std::string_view what) {
  if (std::isfinite(value)) return value;
  throw DataError(fmt::format(
      "{} is {}: the model's weights are damaged, or its training has diverged (weft verify checks "
      "the file)",
      what, value));
}

}  // namespace weft::program
