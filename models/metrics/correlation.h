// Correlation coefficients.
#pragma once

#include <span>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns Pearson's correlation coefficient: 1 if the points are on a rising line, -1 if they are
/// on a falling line. Returns NaN if x or y is constant, because the correlation is then undefined.
/// Throws ArgumentError if x and y differ in length or a number is not finite.
double pearson(std::span<const double> x, std::span<const double> y);

/// Returns Spearman's rank correlation: Pearson's coefficient of the ranks, so that only the order
/// matters. Equal numbers get the mean of their ranks. NaN is returned and errors are thrown under
/// the same conditions as for pearson().
double spearman(std::span<const double> x, std::span<const double> y);

}  // namespace weft
