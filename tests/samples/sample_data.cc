#include "weft/tests/samples/sample_data.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "weft/core/random.h"

namespace weft {
namespace {

std::vector<std::uint32_t> words(std::int64_t count, std::uint64_t seed) {
  const RandomStream stream{seed, 1, 0};
  std::vector<std::uint32_t> w(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = stream.word(i);
  return w;
}

}  // namespace

Tensor sample_uniform(Sizes sizes, std::uint64_t seed, double low, double high) {
  const auto w = words(num_elements(sizes), seed);
  std::vector<float> values(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    values[i] = static_cast<float>(low + (high - low) * (w[i] * 0x1p-32));
  }
  return Tensor::of<float>(std::move(sizes), values);
}

Tensor sample_distinct(Sizes sizes, std::uint64_t seed) {
  const auto w = words(num_elements(sizes), seed);
  std::vector<std::size_t> order(w.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return w[a] != w[b] ? w[a] < w[b] : a < b; });
  std::vector<float> values(w.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    values[order[rank]] =
        0.25f * (static_cast<float>(rank) - static_cast<float>(order.size()) / 2.0f) + 0.1f;
  }
  return Tensor::of<float>(std::move(sizes), values);
}

Tensor sample_indices(Sizes sizes, std::uint64_t seed, std::int64_t bound) {
  const auto w = words(num_elements(sizes), seed);
  std::vector<std::int64_t> values(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) values[i] = w[i] % static_cast<std::uint64_t>(bound);
  return Tensor::of<std::int64_t>(std::move(sizes), values);
}

QuantizedMatrix sample_quantized(QuantizedFormat format, std::int64_t inputs,
                                 std::int64_t outputs) {
  return quantize_matrix(sample_uniform({inputs, outputs}, 31), format, false);
}

QuantizedMatrix sample_quantized_stack(QuantizedFormat format, std::int64_t matrices,
                                       std::int64_t inputs, std::int64_t outputs) {
  QuantizedMatrix stack;
  const auto put = [&](Tensor& to, const Tensor& from, std::int64_t i) {
    Sizes sizes = from.sizes();
    sizes.insert(sizes.begin(), matrices);
    if (!to.defined()) to = Tensor::zeros(from.dtype(), sizes);
    if (i == matrices) return;
    std::memcpy(
        static_cast<std::byte*>(to.mutable_raw()) + static_cast<std::size_t>(i) * from.bytes(),
        from.raw(), from.bytes());
  };
  for (std::int64_t i = 0; i < std::max<std::int64_t>(matrices, 1); ++i) {
    const QuantizedMatrix one = quantize_matrix(
        sample_uniform({inputs, outputs}, 31 + static_cast<std::uint64_t>(i)), format, false);
    put(stack.q, one.q, std::min(i, matrices));
    put(stack.scale, one.scale, std::min(i, matrices));
  }
  return stack;
}

}  // namespace weft
