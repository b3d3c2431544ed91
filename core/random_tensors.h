// Tensors with random elements, for synthetic data and tests. Equal seeds give equal values on
// every machine.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Returns a tensor of normally distributed elements. `dtype` must be a floating dtype.
Tensor normal_tensor(Sizes sizes, std::uint64_t seed, DType dtype = DType::f32, double mean = 0,
                     double std = 1);
/// Returns a tensor of elements uniformly distributed in [low, high). `dtype` must be a floating
/// dtype.
Tensor uniform_tensor(Sizes sizes, std::uint64_t seed, double low, double high,
                      DType dtype = DType::f32);
/// Returns a tensor of any dtype with integers uniformly distributed in [low, high), for ids,
/// labels and masks. Throws ArgumentError unless low < high.
Tensor integer_tensor(Sizes sizes, std::uint64_t seed, std::int64_t low, std::int64_t high,
                      DType dtype = DType::i64);

}  // namespace weft
