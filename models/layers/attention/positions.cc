#include "weft/models/layers/attention/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {
namespace {

constexpr std::string_view kScalings[] = {"none",   "linear", "dynamic",
                                          "llama3", "yarn",   "longrope"};

/// Returns the frequency after llama3 scaling.
double smoothed(double frequency, const RotaryScaling& scaling) {
  const double waves = static_cast<double>(scaling.context) * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp(
      (waves - scaling.low_factor) / (scaling.high_factor - scaling.low_factor), 0.0, 1.0);
  return frequency * (kept + (1 - kept) / scaling.factor);
}

/// Returns m(weight) of the documentation of RotaryScaling::attention_factor.
double yarn_factor(const RotaryScaling& scaling, double weight) {
  return 0.1 * weight * std::log(scaling.factor) + 1;
}

/// Returns the (fractional) index of the pair that rotates `turns` times over the context.
double pair_with_turns(double turns, std::int64_t features, double base,
                       const RotaryScaling& scaling) {
  return static_cast<double>(features) *
         std::log(static_cast<double>(scaling.context) / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(base));
}

/// Returns which part of its frequency pair j loses to yarn's interpolation, in [0, 1].
double yarn_share(double j, std::int64_t features, double base, const RotaryScaling& scaling) {
  double low = pair_with_turns(scaling.beta_fast, features, base, scaling);
  double high = pair_with_turns(scaling.beta_slow, features, base, scaling);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(features - 1));
  if (low == high) high += 0.001;  // as in the authors' code: a step instead of a division by 0
  return std::clamp((j - low) / (high - low), 0.0, 1.0);
}

}  // namespace

ChoiceNames choice_names(RotaryScalingKind) { return {"rotary scaling", kScalings}; }

Value sinusoidal_positions(Value positions, std::int64_t width, DType dtype, SinusoidalRates rates,
                           SourceLocation loc) {
  Graph& graph = positions.graph();
  Graph::Frame frame(graph, "sinusoidal_positions", loc);
  const bool endpoint = rates == SinusoidalRates::endpoint;
  if (endpoint && width < 4) {
    graph.fail(ArgumentError(fmt::format("width must be at least 4, for two rates, not {}", width)),
               "sinusoidal_positions", {positions}, loc);
  }
  if (!endpoint && (width < 2 || width % 2 != 0)) {
    graph.fail(
        ArgumentError(fmt::format("width must be even, for sines and cosines, not {}", width)),
        "sinusoidal_positions", {positions}, loc);
  }
  const std::int64_t pairs = width / 2;
  const double last = endpoint ? static_cast<double>(pairs - 1) : static_cast<double>(width) / 2;
  std::vector<double> per_position;
  for (std::int64_t j = 0; j < pairs; ++j)
    per_position.push_back(std::pow(10000.0, -static_cast<double>(j) / last));
  // Use double precision: in single precision, the errors of sines of large angles would be about p
  // * 1e-7.
  const Value angle = unsqueeze(cast(positions, DType::f64), positions.rank()) *
                      graph.constant(Tensor::of({pairs}, per_position));
  std::vector<Value> parts = {sin(angle), cos(angle)};
  if (width % 2 != 0) parts.push_back(slice(angle, positions.rank(), {.end = Dim(1)}) * 0);
  return cast(concat(parts, -1), dtype);
}

std::vector<double> rotary_frequencies(std::int64_t features, double base,
                                       const RotaryScaling& scaling) {
  if (scaling.kind == RotaryScalingKind::longrope) {
    for (const auto* factors : {&scaling.short_factors, &scaling.long_factors}) {
      if (std::ssize(*factors) == features / 2) continue;
      throw ArgumentError(
          fmt::format("longrope needs a short and a long factor for each of {} pairs of features, "
                      "not {} and {}",
                      features / 2, scaling.short_factors.size(), scaling.long_factors.size()));
    }
  }
  std::vector<double> result;
  for (std::int64_t j = 0; j < features / 2; ++j) {
    const double plain =
        std::pow(base, -2.0 * static_cast<double>(j) / static_cast<double>(features));
    switch (scaling.kind) {
      case RotaryScalingKind::linear: result.push_back(plain / scaling.factor); break;
      case RotaryScalingKind::llama3: result.push_back(smoothed(plain, scaling)); break;
      case RotaryScalingKind::yarn: {
        const double share = yarn_share(static_cast<double>(j), features, base, scaling);
        result.push_back(plain * (1 - share + share / scaling.factor));
        break;
      }
      case RotaryScalingKind::longrope:
        result.push_back(plain / scaling.short_factors[static_cast<std::size_t>(j)]);
        break;
      case RotaryScalingKind::none:
      case RotaryScalingKind::dynamic: result.push_back(plain); break;
    }
  }
  return result;
}

double rotary_attention_factor(const RotaryScaling& scaling) {
  if (scaling.attention_factor != 0) return scaling.attention_factor;
  if (scaling.kind == RotaryScalingKind::yarn) {
    return scaling.mscale != 0 && scaling.mscale_all != 0
               ? yarn_factor(scaling, scaling.mscale) / yarn_factor(scaling, scaling.mscale_all)
               : yarn_factor(scaling, 1);
  }
  if (scaling.kind != RotaryScalingKind::longrope || scaling.factor <= 1) return 1;
  return std::sqrt(1 + std::log(scaling.factor) / std::log(static_cast<double>(scaling.context)));
}

double yarn_score_factor(const RotaryScaling& scaling) {
  if (scaling.kind != RotaryScalingKind::yarn) return 1;
  const double factor = yarn_factor(scaling, scaling.mscale_all);
  return factor * factor;
}

namespace {

/// Returns the frequencies of the pairs for texts of a length, f64 [pairs] or [batch, 1, pairs].
Value frequencies_for(Value length, std::int64_t features, double base,
                      const RotaryScaling& scaling) {
  Graph& graph = length.graph();
  const std::int64_t pairs = features / 2;
  const auto constant = [&](const std::vector<double>& values) {
    return graph.constant(Tensor::of({pairs}, values));
  };
  const Value usual = constant(rotary_frequencies(features, base, scaling));
  // One number per row broadcasts against positions and pairs.
  if (length.rank() == 1) length = reshape(length, {length.size(0), 1, 1});
  if (scaling.kind == RotaryScalingKind::dynamic) {
    // Pair 0 has frequency 1 for every base. With two features it is the only pair.
    std::vector<double> exponents;
    for (std::int64_t j = 0; j < pairs; ++j)
      exponents.push_back(
          j == 0 ? 0.0 : -2.0 * static_cast<double>(j) / static_cast<double>(features - 2));
    const double rate = scaling.factor / static_cast<double>(scaling.context);
    const Value stretch = maximum(cast(length, DType::f64) * rate - (scaling.factor - 1), 1.0);
    return usual * exp(log(stretch) * constant(exponents));
  }
  if (scaling.kind == RotaryScalingKind::longrope) {
    RotaryScaling stretched = scaling;
    stretched.short_factors = scaling.long_factors;
    return where(length > scaling.context, constant(rotary_frequencies(features, base, stretched)),
                 usual);
  }
  return usual;
}

}  // namespace

Value scaled_rotary(Value x, Value positions, Value length, std::int64_t features, double base,
                    const RotaryScaling& scaling, bool adjacent, SourceLocation loc) {
  if (scaling.kind == RotaryScalingKind::none) {
    return rope({x, loc}, positions, {.rotary_dim = features, .base = base, .adjacent = adjacent});
  }
  Graph& graph = x.graph();
  Graph::Frame frame(graph, "scaled_rotary", loc);
  const std::int64_t pairs = features / 2;
  // Use double precision, as in sinusoidal_positions().
  Value angle = unsqueeze(cast(positions, DType::f64), positions.rank()) *
                frequencies_for(length, features, base, scaling);
  if (angle.rank() == 3) angle = unsqueeze(angle, 1);  // the same for all heads
  const double factor = rotary_attention_factor(scaling);
  const auto component = [&](const Value& value) {
    return cast(factor == 1 ? value : value * factor, x.dtype());
  };
  const Value cosine = component(cos(angle)), sine = component(sin(angle));
  const auto part = [&](std::int64_t begin, const Dim& end) {
    return slice(x, 3, {.begin = Dim(begin), .end = end});
  };
  const Dim& size = x.size(3);
  Value first, second;
  if (adjacent) {
    const Value paired = reshape(part(0, features), {x.size(0), x.size(1), x.size(2), pairs, 2});
    first = select(paired, 4, Dim(0));
    second = select(paired, 4, Dim(1));
  } else {
    first = part(0, pairs);
    second = part(pairs, features);
  }
  std::vector<Value> parts = {first * cosine - second * sine, second * cosine + first * sine};
  if (adjacent) parts = {reshape(stack(parts, 4), {x.size(0), x.size(1), x.size(2), features})};
  if (size != Dim(features)) parts.push_back(part(features, size));
  return concat(parts, 3);
}

}  // namespace weft
