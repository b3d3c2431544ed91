#include "weft/models/audio/resample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr double kZeroCrossings = 64, kBeta = 12.3, kRolloff = 0.95;

/// The windowed sinc with this cutoff, a fraction of the Nyquist frequency of the source, at `t`
/// samples of the source from its centre.
double windowed_sinc(double t, double cutoff) {
  static const double centre = std::cyl_bessel_i(0.0, kBeta);
  const double x = t * cutoff, u = x / kZeroCrossings;
  if (std::abs(u) >= 1) return 0;
  const double angle = std::numbers::pi * x;
  const double sinc = x == 0 ? 1 : std::sin(angle) / angle;
  return cutoff * sinc * std::cyl_bessel_i(0.0, kBeta * std::sqrt(1 - u * u)) / centre;
}

}  // namespace

std::vector<float> resample(std::span<const float> samples, std::int64_t from, std::int64_t to) {
  if (from < 1 || to < 1)
    throw ArgumentError(fmt::format("sample rates must be positive, not {} and {}", from, to));
  if (from == to) return {samples.begin(), samples.end()};
  const std::int64_t common = std::gcd(from, to), up = to / common, down = from / common;
  const std::int64_t count = std::ssize(samples);
  const double cutoff =
      kRolloff * std::min(1.0, static_cast<double>(to) / static_cast<double>(from));
  const auto reach = static_cast<std::int64_t>(std::ceil(kZeroCrossings / cutoff));
  std::vector<float> result(static_cast<std::size_t>((count * up + down - 1) / down));
  // Samples i, i + up, i + 2 up, ... of the result have the same distances to the source's samples.
  std::vector<double> taps(static_cast<std::size_t>(2 * reach + 1));
  for (std::int64_t phase = 0; phase < std::min(up, std::ssize(result)); ++phase) {
    const std::int64_t whole = phase * down / up;
    const double part = static_cast<double>(phase * down % up) / static_cast<double>(up);
    for (std::int64_t k = -reach; k <= reach; ++k)
      taps[static_cast<std::size_t>(k + reach)] =
          windowed_sinc(static_cast<double>(k) - part, cutoff);
    std::int64_t centre = whole;
    for (std::int64_t i = phase; i < std::ssize(result); i += up, centre += down) {
      const std::int64_t first = std::max<std::int64_t>(centre - reach, 0);
      const std::int64_t last = std::min(centre + reach, count - 1);
      double sum = 0;
      for (std::int64_t s = first; s <= last; ++s)
        sum += taps[static_cast<std::size_t>(s - centre + reach)] *
               static_cast<double>(samples[static_cast<std::size_t>(s)]);
      result[static_cast<std::size_t>(i)] = static_cast<float>(sum);
    }
  }
  return result;
}

}  // namespace weft
