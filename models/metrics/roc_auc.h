// Area under the ROC curve: how well a score separates two classes, independent of a threshold.
#pragma once

#include <cstdint>
#include <span>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the area under the receiver operating characteristic: the probability that an example of
/// class 1 has a higher score than one of class 0, with equal scores counting half (Hanley and
/// McNeil 1982). Returns NaN if one of the classes has no examples. Throws ArgumentError if the
/// numbers of scores and labels differ, a label is neither 0 nor 1, or a score is NaN.
double roc_auc(std::span<const float> scores, std::span<const std::int32_t> labels);

}  // namespace weft
