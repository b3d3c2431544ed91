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

constexpr std::string_view kScalings[] = {"none", "linear", "dynamic", "llama3"};

/// Returns the frequency after llama3 scaling.
double smoothed(double frequency, const RotaryScaling& scaling) {
  const double waves = static_cast<double>(scaling.context) * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp(
      (waves - scaling.low_factor) / (scaling.high_factor - scaling.low_factor), 0.0, 1.0);
  return frequency * (kept + (1 - kept) / scaling.factor);
}

}  // namespace

ChoiceNames choice_names(RotaryScalingKind) { return {"rotary scaling", kScalings}; }

Value sinusoidal_positions(Value positions, std::int64_t width, DType dtype, SourceLocation loc) {
  Graph& graph = positions.graph();
  Graph::Frame frame(graph, "sinusoidal_positions", loc);
  if (width < 2 || width % 2 != 0) {
    graph.fail(
        ArgumentError(fmt::format("width must be even, for sines and cosines, not {}", width)),
        "sinusoidal_positions", {positions}, loc);
  }
  std::vector<double> rates;
  for (std::int64_t j = 0; j < width / 2; ++j) {
    rates.push_back(std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(width)));
  }
  // Use double precision: in single precision, the errors of sines of large angles would be about p
  // * 1e-7.
  const Value angle = unsqueeze(cast(positions, DType::f64), positions.rank()) *
                      graph.constant(Tensor::of({width / 2}, rates));
  return cast(concat({sin(angle), cos(angle)}, -1), dtype);
}

std::vector<double> rotary_frequencies(std::int64_t features, double base,
                                       const RotaryScaling& scaling) {
  std::vector<double> result;
  for (std::int64_t j = 0; j < features / 2; ++j) {
    const double plain =
        std::pow(base, -2.0 * static_cast<double>(j) / static_cast<double>(features));
    switch (scaling.kind) {
      case RotaryScalingKind::linear: result.push_back(plain / scaling.factor); break;
      case RotaryScalingKind::llama3: result.push_back(smoothed(plain, scaling)); break;
      case RotaryScalingKind::none:
      case RotaryScalingKind::dynamic: result.push_back(plain); break;
    }
  }
  return result;
}

Value scaled_rotary(Value x, Value positions, Value length, std::int64_t features, double base,
                    const RotaryScaling& scaling, SourceLocation loc) {
  Graph& graph = x.graph();
  Graph::Frame frame(graph, "scaled_rotary", loc);
  const std::int64_t pairs = features / 2;
  Value frequencies =
      graph.constant(Tensor::of({pairs}, rotary_frequencies(features, base, scaling)));
  if (scaling.kind == RotaryScalingKind::dynamic) {
    // Pair 0 has frequency 1 for every base. With two features it is the only pair.
    std::vector<double> exponents;
    for (std::int64_t j = 0; j < pairs; ++j)
      exponents.push_back(
          j == 0 ? 0.0 : -2.0 * static_cast<double>(j) / static_cast<double>(features - 2));
    const double rate = scaling.factor / static_cast<double>(scaling.context);
    Value stretch = maximum(cast(length, DType::f64) * rate - (scaling.factor - 1), 1.0);
    if (stretch.rank() == 1) stretch = reshape(stretch, {stretch.size(0), 1, 1});  // [batch, 1, 1]
    frequencies = frequencies * exp(log(stretch) * graph.constant(Tensor::of({pairs}, exponents)));
  }
  // Use double precision, as in sinusoidal_positions().
  Value angle = unsqueeze(cast(positions, DType::f64), positions.rank()) * frequencies;
  if (angle.rank() == 3) angle = unsqueeze(angle, 1);  // the same for all heads
  const Value cosine = cast(cos(angle), x.dtype()), sine = cast(sin(angle), x.dtype());
  const auto part = [&](std::int64_t begin, const Dim& end) {
    return slice(x, 3, {.begin = Dim(begin), .end = end});
  };
  const Value first = part(0, pairs), second = part(pairs, features);
  std::vector<Value> parts = {first * cosine - second * sine, second * cosine + first * sine};
  const Dim& size = x.size(3);
  if (size != Dim(features)) parts.push_back(part(features, size));
  return concat(parts, 3);
}

}  // namespace weft
