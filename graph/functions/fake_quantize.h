// Rounding of activations to 8 bits.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// Rounds x (f32 or f64) to signed integers of 8 bits times a step, and returns the rounded
/// numbers with the dtype and shape of x. Rows are slices along the last axis.
///   without scale  one step per row, max |x| / 127
///   with scale     the step is `scale`, one element with the dtype of x, which must be in [2^-100,
///                  2^100], otherwise the result is NaN; elements beyond 127 steps are clamped
/// A row that contains NaN becomes NaN, as does a row that contains an infinity if there is no
/// scale. Rows below 2^-100 become 0 if there is no scale.
///
/// The gradient is that of the identity (straight-through estimator, Bengio et al. 2013); with
/// scale, it is 0 for elements that are clamped. No gradient flows to the scale.
///
/// Sessions compute matmul(fake_quantize(x), w), where w is a quantised matrix (quantize.h), as a
/// product of integers, which is several times as fast as a product of floats on CPUs with byte
/// dot products.
Value fake_quantize(Arg x, OptionalArg scale = {});

}  // namespace weft
