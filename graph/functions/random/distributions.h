// Random samples from additional distributions, computed from the samples of random.h.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// Keys are used as in random.h. All functions are O(elements), except random_permutation, which
// sorts. Class ids, integers and permutations have no gradient. The parameters of the other
// distributions are plain numbers; for parameters with a gradient, scale and shift a standard
// sample: mean + sd * normal(key, shape).

/// Exponential distribution with the given rate > 0: mean 1 / rate, values in [0, inf).
Value exponential(Arg key, const Shape& shape, double rate = 1, DType dtype = DType::f32);
/// Gumbel distribution, the limit distribution of maxima: location - scale log(-log(u)); scale > 0.
Value gumbel(Arg key, const Shape& shape, double location = 0, double scale = 1,
             DType dtype = DType::f32);
/// Samples class ids (i64, the shape of `logits` without the axis) with probabilities
/// softmax(logits) along the axis. Uses the Gumbel-max trick (Gumbel 1954): the argmax of logits
/// plus Gumbel noise, one sample per logit. A class with logit -inf is never drawn unless all
/// logits are -inf.
Value categorical(Arg key, Arg logits, int axis = -1);
/// Uniform integers in [low, high). The probabilities are equal up to a relative error of 2^-53
/// (high - low). `dtype` is i64, or i32 if it can represent all these integers. Throws
/// ArgumentError for any other dtype, and unless low < high and high - low <= 2^53.
Value random_integers(Arg key, const Shape& shape, std::int64_t low, std::int64_t high,
                      DType dtype = DType::i64);
/// A random permutation of 0 to n - 1, i64 [n]. Sorts n samples of 53 bits: O(n log n).
Value random_permutation(Arg key, const Dim& n);
/// Normal distribution with the given mean and standard deviation, truncated to [mean + low std,
/// mean + high std]. Inverts the distribution function instead of rejecting samples. If the whole
/// interval is more than 8 standard deviations from the mean, all samples are equal to the end that
/// is nearer to the mean. Throws ArgumentError unless low < high and std > 0.
Value truncated_normal(Arg key, const Shape& shape, double mean = 0, double std = 1,
                       double low = -2, double high = 2, DType dtype = DType::f32);

}  // namespace weft
