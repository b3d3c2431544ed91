// Random tensors for the tests in this folder.
#pragma once

#include <cstdint>

#include "weft/core/random.h"
#include "weft/core/tensor.h"

namespace weft {

/// Returns standard normal numbers in f32 or f64 that depend only on the seed.
inline Tensor random_tensor(const Sizes& sizes, std::uint64_t seed, DType dtype = DType::f64) {
  Tensor t = Tensor::empty(DType::f64, sizes);
  const RandomStream stream{seed, 0, 0};
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const auto word = static_cast<std::uint64_t>(2 * i);
    t.mutable_data<double>()[i] = normal_pair(stream.word(word), stream.word(word + 1))[0];
  }
  return t.to(dtype);
}

}  // namespace weft
