// Random draws from further distributions: functions of the draws in random.h, with their keys.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// O(elements) but for random_permutation, which sorts. No gradient flows through ids, integers and
// orders; parameters of the others are plain numbers: what shall have a gradient scales and shifts
// a draw (mean + sd * normal(key, shape)).

/// Exponential with this rate (> 0): mean 1 / rate, in [0, inf).
Value exponential(Arg key, const Shape& shape, double rate = 1, DType dtype = DType::f32);
/// Gumbel: location - scale log(-log(u)); scale > 0. The maximum of many.
Value gumbel(Arg key, const Shape& shape, double location = 0, double scale = 1,
             DType dtype = DType::f32);
/// Ids (i64, [... sizes without the axis]) by probabilities softmax(logits) along the axis: the
/// argmax of logits plus Gumbel draws (Gumbel 1954): a draw per logit. A logit of -inf is never
/// drawn unless all are.
Value categorical(Arg key, Arg logits, int axis = -1);
/// Whole numbers in [low, high), each with the same probability but for 2^-53 (high - low). `dtype`
/// is i64, or i32 where that holds them. Throws ArgumentError unless so, low < high and high - low
/// <= 2^53.
Value random_integers(Arg key, const Shape& shape, std::int64_t low, std::int64_t high,
                      DType dtype = DType::i64);
/// 0 to n - 1 in random order: i64 [n]. Sorts n draws of 53 bits, O(n log n).
Value random_permutation(Arg key, const Dim& n);
/// Normal with this mean and standard deviation where the draw is within [mean + low std,
/// mean + high std], by the inverse of the distribution function (what is cut off is not drawn
/// again). Where all of that lies more than 8 deviations from the mean, draws are its nearer end.
/// Throws ArgumentError unless low < high.
Value truncated_normal(Arg key, const Shape& shape, double mean = 0, double std = 1,
                       double low = -2, double high = 2, DType dtype = DType::f32);

}  // namespace weft
