// Quantises float matrices to int8, int4 and q8_0.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
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

QuantizedGroup int4_group(const Group& group) {
  const Int4Scale scale = choose_scale(group);
  QuantizedGroup result{.scale = scale.half};
  for (std::size_t i = 0; i < group.size(); ++i)
    result.levels[i] = static_cast<std::int8_t>(int4_step(group[i], scale.inverse));
  return result;
}

QuantizedGroup q8_0_group(const Group& group) {
  float extreme = 0;
  for (const float w : group) extreme = std::max(extreme, std::abs(w));
  QuantizedGroup result{.scale = to_float16(extreme / 127)};
  // A subnormal scale may have been rounded down so far that it cannot represent the extreme
  // weight.
  if (127.5f * to_float(result.scale) < extreme) ++result.scale.bits;
  const float scale = to_float(result.scale);
  if (scale == 0) return result;
  for (std::size_t i = 0; i < group.size(); ++i) {
    result.levels[i] =
        static_cast<std::int8_t>(round_even(std::clamp(group[i] / scale, -127.0f, 127.0f)));
  }
  return result;
}

void pack_groups(const float* weights, std::int64_t inputs, std::int64_t output,
                 QuantizedFormat format, const QuantizedGroups& groups) {
  for (std::int64_t i = 0; i < inputs; i += kQuantizedGroup) {
    Group group = {};
    std::copy_n(weights + i, std::min(kQuantizedGroup, inputs - i), group.begin());
    groups.set(output, i / kQuantizedGroup,
               format == QuantizedFormat::int4 ? int4_group(group) : q8_0_group(group));
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
  const float levels = format == QuantizedFormat::int4 ? 8 : 127;
  if (format != QuantizedFormat::int8 && std::abs(w) / levels > kLargestHalf) {
    throw DataError(
        fmt::format("weight [{}, {}] is {}: {} can represent at most {} (its scales are f16)", row,
                    column, w, quantized_format_name(format), levels * kLargestHalf));
  }
}

}  // namespace

std::string_view quantized_format_name(QuantizedFormat format) {
  switch (format) {
    case QuantizedFormat::int8: return "int8";
    case QuantizedFormat::int4: return "int4";
    case QuantizedFormat::q8_0: break;
  }
  return "q8_0";
}

DType quantized_dtype(QuantizedFormat format) {
  return format == QuantizedFormat::int4 ? DType::u8 : DType::i8;
}

DType quantized_scale_dtype(QuantizedFormat format) {
  return format == QuantizedFormat::int8 ? DType::f32 : DType::f16;
}

QuantizedFormat quantized_format(DType q, DType scale) {
  if (q == DType::u8) return QuantizedFormat::int4;
  return scale == DType::f16 ? QuantizedFormat::q8_0 : QuantizedFormat::int8;
}

Sizes quantized_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs) {
  const std::int64_t panels = divide_up(outputs, kQuantizedPanel);
  if (format == QuantizedFormat::int4)
    return {panels, 4 * divide_up(inputs, kQuantizedGroup), kQuantizedPanel, 4};
  return {panels, divide_up<std::int64_t>(inputs, 4), kQuantizedPanel, 4};
}

Sizes quantized_scale_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs) {
  const std::int64_t panels = divide_up(outputs, kQuantizedPanel);
  if (format == QuantizedFormat::int8) return {panels, kQuantizedPanel};
  return {panels, divide_up(inputs, kQuantizedGroup), kQuantizedPanel};
}

QuantizedGroups::QuantizedGroups(QuantizedFormat format, std::int64_t inputs, void* q,
                                 Float16* scale)
    : int4_(format == QuantizedFormat::int4),
      groups_(divide_up(inputs, kQuantizedGroup)),
      words_(quantized_sizes(format, inputs, 1)[1]),
      group_words_(int4_ ? 4 : 8),
      q_(static_cast<std::uint8_t*>(q)),
      scale_(scale) {}

// A 32-bit word holds four levels of q8_0 or eight levels of int4. The words of a channel are
// interleaved with those of the 15 other channels of its panel.
std::uint8_t* QuantizedGroups::word_at(std::int64_t output, std::int64_t group) const {
  const std::int64_t panel = output / kQuantizedPanel, lane = output % kQuantizedPanel;
  return q_ + ((panel * words_ + group * group_words_) * kQuantizedPanel + lane) * 4;
}

// The last group of q8_0 may have fewer words.
std::int64_t QuantizedGroups::word_count(std::int64_t group) const {
  return std::min(group_words_, words_ - group * group_words_);
}

Float16& QuantizedGroups::scale_at(std::int64_t output, std::int64_t group) const {
  const std::int64_t panel = output / kQuantizedPanel, lane = output % kQuantizedPanel;
  return scale_[(panel * groups_ + group) * kQuantizedPanel + lane];
}

QuantizedGroup QuantizedGroups::get(std::int64_t output, std::int64_t group) const {
  QuantizedGroup result{.scale = scale_at(output, group)};
  const std::uint8_t* const begin = word_at(output, group);
  const std::int64_t words = word_count(group);
  auto* level = result.levels.data();
  for (std::int64_t w = 0; w < words; ++w) {
    const std::uint8_t* word = begin + w * 4 * kQuantizedPanel;
    for (int t = 0; t < 4; ++t) {
      if (!int4_) {
        *level++ = static_cast<std::int8_t>(word[t]);
        continue;
      }
      // Subtracting 8 after flipping the top bit extends the sign.
      *level++ = static_cast<std::int8_t>(((word[t] & 15) ^ 8) - 8);
      *level++ = static_cast<std::int8_t>(((word[t] >> 4) ^ 8) - 8);
    }
  }
  return result;
}

void QuantizedGroups::set(std::int64_t output, std::int64_t group,
                          const QuantizedGroup& values) const {
  scale_at(output, group) = values.scale;
  std::uint8_t* const begin = word_at(output, group);
  const std::int64_t words = word_count(group);
  const auto* level = values.levels.data();
  for (std::int64_t w = 0; w < words; ++w) {
    std::uint8_t* word = begin + w * 4 * kQuantizedPanel;
    for (int t = 0; t < 4; ++t) {
      unsigned byte = static_cast<std::uint8_t>(*level++);
      if (int4_) byte = (byte & 15) | (static_cast<std::uint8_t>(*level++) & 15u) << 4;
      word[t] = static_cast<std::uint8_t>(byte);
    }
  }
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
                          result.scale.mutable_data<float>() + panel * kQuantizedPanel);
      } else {
        pack_groups(channel, inputs, first + lane, format,
                    {format, inputs, result.q.mutable_raw(), result.scale.mutable_data<Float16>()});
      }
    }
  }
  return result;
}

}  // namespace weft
