// Tensors of random elements, the same for a seed on every machine: synthetic data, and tests.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Normal elements of a floating dtype.
Tensor normal_tensor(Sizes sizes, std::uint64_t seed, DType dtype = DType::f32, double mean = 0,
                     double std = 1);
/// Uniform elements in [low, high) of a floating dtype.
Tensor uniform_tensor(Sizes sizes, std::uint64_t seed, double low, double high,
                      DType dtype = DType::f32);
/// Whole numbers in [low, high) of any dtype: ids, labels, masks. Throws ArgumentError unless
/// low < high.
Tensor integer_tensor(Sizes sizes, std::uint64_t seed, std::int64_t low, std::int64_t high,
                      DType dtype = DType::i64);

}  // namespace weft
