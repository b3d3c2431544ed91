// Random draws, dropout and keys.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// Draws are functions of a key (i64[2] = {seed, runs}; usually Graph::key()), of a stream number
// that every call gets afresh, and of the element's index: the same on any number of threads, and
// in recomputed copies. A program that draws from a key Variable advances it at the end of each
// run. `shape` may be symbolic. O(elements); backwards dropout draws again, so that nothing is
// stored.

/// Uniform in [low, high) (of one number where both are equal). Throws ArgumentError unless low <=
/// high, and both and their difference are finite.
Value uniform(Arg key, const Shape& shape, double low = 0, double high = 1,
              DType dtype = DType::f32);
/// Normal with the given mean and standard deviation.
Value normal(Arg key, const Shape& shape, double mean = 0, double std = 1,
             DType dtype = DType::f32);
/// bool, true with probability p in [0, 1].
Value bernoulli(Arg key, const Shape& shape, double p);

/// x / (1 - rate) with probability 1 - rate, else 0, for each element (Srivastava et al. 2014,
/// inverted); x itself for rate 0. x is f32 or f64; rate in [0, 1). The gradient drops the same
/// elements.
Value dropout(Arg x, double rate, Arg key);

/// The key of the next run: {seed, runs + 1}.
Value advance_key(Arg key);
/// A key of its own for every index (an i64 scalar, or a number): for draws inside loops and per
/// example.
Value fold_key(Arg key, Arg index);

}  // namespace weft
