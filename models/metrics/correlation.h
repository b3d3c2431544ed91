// How well numbers follow other numbers.
#pragma once

#include <span>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Pearson's coefficient: 1 where the points lie on a rising line, -1 on a falling one. NaN where
/// one of both is the same number everywhere, which goes with nothing. Throws ArgumentError where
/// there are not as many of both, and for a number that is not finite.
double pearson(std::span<const double> x, std::span<const double> y);

/// Spearman's: Pearson's of the ranks, so that only the order counts. Equal numbers share the mean
/// of their ranks. NaN and errors as above.
double spearman(std::span<const double> x, std::span<const double> y);

}  // namespace weft
