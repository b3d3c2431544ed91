// How well a score tells two classes apart, whatever the threshold.
#pragma once

#include <cstdint>
#include <span>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Area under the receiver operating characteristic: the probability that an example of class 1 has
/// a higher score than one of class 0, equal scores counting half (Hanley and McNeil 1982). NaN
/// where one of the classes has no example. Throws ArgumentError where the numbers differ, a label
/// is neither 0 nor 1, or a score is NaN.
double roc_auc(std::span<const float> scores, std::span<const std::int32_t> labels);

}  // namespace weft
