#include "weft/serialization/onnx/import/operators/int8_weights.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/core/integer_range.h"
#include "weft/ops/quantized/quantized.h"

namespace weft::onnx {

std::optional<Tensor> int8_matrix(const Tensor& levels, const Tensor& zeros, bool transposed) {
  const std::int64_t inputs = levels.size(transposed ? 1 : 0);
  const std::int64_t outputs = levels.size(transposed ? 0 : 1);
  std::vector<std::int32_t> zero(static_cast<std::size_t>(outputs));
  if (zeros.defined()) {
    if (zeros.rank() > 1 || (zeros.numel() != 1 && zeros.numel() != outputs)) return {};
    const Tensor wide = zeros.to(DType::i32);
    for (std::int64_t j = 0; j < outputs; ++j)
      zero[static_cast<std::size_t>(j)] = wide.data<std::int32_t>()[wide.numel() == 1 ? 0 : j];
  }
  const Tensor wide = levels.to(DType::i32);
  const auto* const from = wide.data<std::int32_t>();
  Tensor packed = Tensor::zeros(DType::i8, quantized_sizes(QuantizedFormat::int8, inputs, outputs));
  auto* const q = packed.mutable_data<std::int8_t>();
  const std::int64_t words = (inputs + 3) / 4;
  const IntegerRange range = integer_range(DType::i8);
  // Panel by panel, so that both tensors are accessed in whole cache lines.
  for (std::int64_t panel = 0; panel < outputs; panel += kQuantizedPanel) {
    const std::int64_t end = std::min(panel + kQuantizedPanel, outputs);
    std::int8_t* const to = q + panel * words * 4;
    for (std::int64_t i = 0; i < inputs; ++i) {
      for (std::int64_t j = panel; j < end; ++j) {
        const std::int32_t w =
            from[transposed ? j * inputs + i : i * outputs + j] - zero[static_cast<std::size_t>(j)];
        if (!range.holds(w)) return {};
        to[(i / 4 * kQuantizedPanel + j - panel) * 4 + i % 4] = static_cast<std::int8_t>(w);
      }
    }
  }
  return packed;
}

Tensor channels_last_rows(const Tensor& w) {
  const std::int64_t channels = w.size(1), taps = w.size(2) * w.size(3);
  Tensor rows = Tensor::empty(w.dtype(), {w.size(0), taps * channels});
  for (std::int64_t to = 0; to < w.numel(); ++to) {
    const std::int64_t c = to % channels, tap = to / channels % taps, o = to / channels / taps;
    std::memcpy(rows.mutable_raw() + to, w.raw() + (o * channels + c) * taps + tap, 1);
  }
  return rows;
}

}  // namespace weft::onnx
