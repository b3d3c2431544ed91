// Random sampling, dropout and random keys.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// Each random element is a function of a key (i64[2] = {seed, runs}; usually Graph::key()), of a
// stream number that is unique to each call, and of the element's index. Random numbers therefore
// do not depend on the number of threads, and rematerialised nodes reproduce them. A program that
// draws from a key Variable advances the key at the end of each run. `shape` may be symbolic. All
// functions are O(elements). The gradient of dropout regenerates the mask instead of storing it.

/// Uniform distribution on [low, high); constant if both are equal. Throws ArgumentError unless low
/// <= high and low, high and high - low are finite.
Value uniform(Arg key, const Shape& shape, double low = 0, double high = 1,
              DType dtype = DType::f32);
/// Normal distribution with the given mean and standard deviation.
Value normal(Arg key, const Shape& shape, double mean = 0, double std = 1,
             DType dtype = DType::f32);
/// Bernoulli distribution: a bool tensor whose elements are true with probability p in [0, 1].
Value bernoulli(Arg key, const Shape& shape, double p);

/// Inverted dropout (Srivastava et al. 2014): each element is x / (1 - rate) with probability 1 -
/// rate, else 0. Returns x itself if rate is 0. x is f32 or f64; rate is in [0, 1). The gradient
/// drops the same elements.
Value dropout(Arg x, double rate, Arg key);

/// Returns the key of the next run: {seed, runs + 1}.
Value advance_key(Arg key);
/// Derives a separate key for each index (an i64 scalar, or a number), for random draws inside
/// loops or per example.
Value fold_key(Arg key, Arg index);

}  // namespace weft
