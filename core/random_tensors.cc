#include "weft/core/random_tensors.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {
namespace {

// Elements are computed in double and rounded once.
template <class Element>
Tensor of_elements(Sizes sizes, DType dtype, const Element& element) {
  Tensor t = Tensor::empty(DType::f64, std::move(sizes));
  double* data = t.mutable_data<double>();
  for (std::int64_t i = 0; i < t.numel(); ++i) data[i] = element(static_cast<std::uint64_t>(i));
  return t.to(dtype);
}

double uniform_element(const RandomStream& stream, std::uint64_t i) {
  return uniform_double(stream.word(2 * i), stream.word(2 * i + 1));
}

}  // namespace

Tensor normal_tensor(Sizes sizes, std::uint64_t seed, DType dtype, double mean, double std) {
  const RandomStream stream{seed};
  return of_elements(std::move(sizes), dtype, [&](std::uint64_t i) {
    return mean + std * normal_pair(stream.word(2 * i), stream.word(2 * i + 1))[0];
  });
}

Tensor uniform_tensor(Sizes sizes, std::uint64_t seed, double low, double high, DType dtype) {
  const RandomStream stream{seed};
  return of_elements(std::move(sizes), dtype, [&](std::uint64_t i) {
    return low + (high - low) * uniform_element(stream, i);
  });
}

Tensor integer_tensor(Sizes sizes, std::uint64_t seed, std::int64_t low, std::int64_t high,
                      DType dtype) {
  if (low >= high) {
    throw ArgumentError(fmt::format("integer_tensor: the range [{}, {}) is empty", low, high));
  }
  const RandomStream stream{seed};
  Tensor t = Tensor::empty(DType::i64, std::move(sizes));
  auto* data = t.mutable_data<std::int64_t>();
  const auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const std::uint64_t bits = std::uint64_t{stream.word(2 * at)} << 32 | stream.word(2 * at + 1);
    data[i] = low + static_cast<std::int64_t>(uniform_below(bits, range));
  }
  return t.to(dtype);
}

}  // namespace weft
