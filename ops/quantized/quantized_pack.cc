// Quantises float matrices to int8 and int4.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/ops/quantized/quantized.h"

namespace weft {
namespace {

constexpr float kLargestHalf = 65504;

// Rounds to nearest, ties to even, for |x| < 2^22. In contrast to nearbyint, this function can be
// vectorised on every CPU.
float round_even(float x) {
  constexpr float kMagic = 12582912;  // 1.5 * 2^23
  return (x + kMagic) - kMagic;
}

using Group = std::array<float, kQuantizedGroup>;

float int4_step(float value, float inverse) {
  return std::clamp(round_even(value * inverse), -8.0f, 7.0f);
}

struct Int4Scale {
  Float16 half;
  float inverse = 0;
};

// Returns the scale rounded to f16, as it is stored.
Int4Scale stored(float scale) {
  const Float16 half = to_float16(scale);
  const float kept = to_float(half);
  return {half, kept == 0 ? 0 : 1 / kept};
}

float squared_error(const Group& group, const Int4Scale& scale) {
  const float step = to_float(scale.half);
  std::array<float, kQuantizedGroup> square;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const float e = group[i] - step * int4_step(group[i], scale.inverse);
    square[i] = e * e;
  }
  float sum = 0;
  for (const float s : square) sum += s;
  return sum;
}

// Returns the least-squares scale, sum(w q) / sum(q q), for the levels q that result from `scale`.
float refit(const Group& group, const Int4Scale& scale) {
  float product = 0, squares = 0;
  for (const float w : group) {
    const float q = int4_step(w, scale.inverse);
    product += w * q;
    squares += q * q;
  }
  return squares == 0 ? 0 : product / squares;
}

Int4Scale choose_scale(const Group& group) {
  float extreme = 0;
  for (const float w : group) {
    if (std::abs(w) > std::abs(extreme)) extreme = w;
  }
  // Level -8 is the only level without a positive counterpart. If the extreme weight is mapped to
  // this level, the steps are finest for the other weights. Slightly smaller scales clip the
  // extreme weight in favour of the others.
  Int4Scale best = stored(extreme / -8);
  float least = squared_error(group, best);
  const auto try_scale = [&](float scale) {
    const Int4Scale candidate = stored(scale);
    const float error = squared_error(group, candidate);
    if (error < least) {
      least = error;
      best = candidate;
    }
  };
  for (const float steps : {-9.0f, -8.5f, -7.5f, -7.0f, 7.0f, 7.5f, 8.0f})
    try_scale(extreme / steps);
  try_scale(refit(group, best));
  return best;
}

void pack_int4_channel(const float* weights, std::int64_t inputs, std::int64_t lane,
                       std::uint8_t* q, Float16* scales) {
  const std::int64_t groups = (inputs + kQuantizedGroup - 1) / kQuantizedGroup;
  for (std::int64_t g = 0; g < groups; ++g) {
    Group group = {};
    std::copy_n(weights + g * kQuantizedGroup,
                std::min(kQuantizedGroup, inputs - g * kQuantizedGroup), group.begin());
    const Int4Scale scale = choose_scale(group);
    scales[g * kQuantizedPanel + lane] = scale.half;
    for (std::int64_t i = 0; i < kQuantizedGroup; i += 2) {
      const auto nibble = [&](std::int64_t at) {
        const float step = int4_step(group[static_cast<std::size_t>(at)], scale.inverse);
        return static_cast<unsigned>(static_cast<int>(step)) & 15u;
      };
      const std::int64_t block = 4 * g + i / 8;
      q[(block * kQuantizedPanel + lane) * 4 + i % 8 / 2] =
          static_cast<std::uint8_t>(nibble(i) | nibble(i + 1) << 4);
    }
  }
}

void pack_int8_channel(const float* weights, std::int64_t inputs, std::int64_t lane, std::int8_t* q,
                       float* scales) {
  float extreme = 0;
  for (std::int64_t i = 0; i < inputs; ++i) extreme = std::max(extreme, std::abs(weights[i]));
  const float scale = extreme / 127;
  scales[lane] = scale;
  for (std::int64_t i = 0; i < inputs; ++i) {
    const float step = scale == 0 ? 0 : std::clamp(round_even(weights[i] / scale), -127.0f, 127.0f);
    q[(i / 4 * kQuantizedPanel + lane) * 4 + i % 4] = static_cast<std::int8_t>(step);
  }
}

void check_weight(float w, std::int64_t row, std::int64_t column, QuantizedFormat format) {
  if (!std::isfinite(w)) {
    throw DataError(fmt::format("weight [{}, {}] is {}: only finite weights can be {}", row, column,
                                w, quantized_format_name(format)));
  }
  if (format == QuantizedFormat::int4 && std::abs(w) / 8 > kLargestHalf) {
    throw DataError(
        fmt::format("weight [{}, {}] is {}: int4 can represent at most {} (its scales are f16)",
                    row, column, w, 8 * kLargestHalf));
  }
}

}  // namespace

std::string_view quantized_format_name(QuantizedFormat format) {
  return format == QuantizedFormat::int8 ? "int8" : "int4";
}

DType quantized_dtype(QuantizedFormat format) {
  return format == QuantizedFormat::int8 ? DType::i8 : DType::u8;
}

DType quantized_scale_dtype(QuantizedFormat format) {
  return format == QuantizedFormat::int8 ? DType::f32 : DType::f16;
}

Sizes quantized_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs) {
  const std::int64_t panels = (outputs + kQuantizedPanel - 1) / kQuantizedPanel;
  if (format == QuantizedFormat::int8) return {panels, (inputs + 3) / 4, kQuantizedPanel, 4};
  return {panels, 4 * ((inputs + kQuantizedGroup - 1) / kQuantizedGroup), kQuantizedPanel, 4};
}

Sizes quantized_scale_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs) {
  const std::int64_t panels = (outputs + kQuantizedPanel - 1) / kQuantizedPanel;
  if (format == QuantizedFormat::int8) return {panels, kQuantizedPanel};
  return {panels, (inputs + kQuantizedGroup - 1) / kQuantizedGroup, kQuantizedPanel};
}

QuantizedMatrix quantize_matrix(const Tensor& matrix, QuantizedFormat format, bool transposed) {
  if (matrix.dtype() != DType::f32) {
    throw DTypeError(fmt::format("only f32 matrices can be quantised, not {}", matrix.type_str()));
  }
  if (matrix.rank() != 2) {
    throw ShapeError(fmt::format("only matrices can be quantised, not {}", matrix.type_str()));
  }
  const std::int64_t inputs = matrix.size(transposed ? 1 : 0);
  const std::int64_t outputs = matrix.size(transposed ? 0 : 1);
  QuantizedMatrix result{
      Tensor::zeros(quantized_dtype(format), quantized_sizes(format, inputs, outputs)),
      Tensor::zeros(quantized_scale_dtype(format), quantized_scale_sizes(format, inputs, outputs))};
  if (inputs == 0 || outputs == 0) return result;
  const std::int64_t q_panel = result.q.numel() / result.q.size(0);
  const std::int64_t scale_panel = result.scale.numel() / result.scale.size(0);
  const float* const w = matrix.data<float>();
  const std::int64_t columns = matrix.size(1);
  std::vector<float> channels(static_cast<std::size_t>(kQuantizedPanel * inputs));
  for (std::int64_t panel = 0; panel < result.q.size(0); ++panel) {
    const std::int64_t first = panel * kQuantizedPanel,
                       count = std::min(kQuantizedPanel, outputs - first);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      float* channel = channels.data() + lane * inputs;
      for (std::int64_t i = 0; i < inputs; ++i) {
        const std::int64_t row = transposed ? first + lane : i,
                           column = transposed ? i : first + lane;
        channel[i] = w[row * columns + column];
        check_weight(channel[i], row, column, format);
      }
      if (format == QuantizedFormat::int8) {
        pack_int8_channel(channel, inputs, lane,
                          result.q.mutable_data<std::int8_t>() + panel * q_panel,
                          result.scale.mutable_data<float>() + panel * scale_panel);
      } else {
        pack_int4_channel(channel, inputs, lane,
                          result.q.mutable_data<std::uint8_t>() + panel * q_panel,
                          result.scale.mutable_data<Float16>() + panel * scale_panel);
      }
    }
  }
  return result;
}

}  // namespace weft
