#include "weft/models/plots/svg_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

/// Returns a step of 1, 2 or 5 times a power of ten, such that about `count` steps fill `span`.
double round_step(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

/// Maximum number of decades for which there are also ticks between the powers of ten.
constexpr int kShortDecades = 3;
/// Minimum number of decades for which some powers of ten have no tick.
constexpr int kMaxDecades = 8;

}  // namespace

void PlotRange::add(double v) {
  low = std::min(low, v);
  high = std::max(high, v);
}

PlotAxis PlotAxis::linear(PlotRange range, int ticks) {
  if (range.empty()) range = {0, 1};
  if (range.high - range.low < 1e-12 * std::max(1.0, std::abs(range.high))) {
    range.low -= 0.5;
    range.high += 0.5;
  }
  const double step = round_step(range.high - range.low, ticks);
  const double low = std::floor(range.low / step + 1e-9) * step;
  const auto count = std::lround((std::ceil(range.high / step - 1e-9) * step - low) / step);
  std::vector<double> places;
  for (long i = 0; i <= count; ++i) {
    const double tick = low + static_cast<double>(i) * step;
    places.push_back(std::abs(tick) < step * 1e-6 ? 0 : tick);
  }
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return PlotAxis(false, std::move(places), decimals);
}

PlotAxis PlotAxis::logarithmic(PlotRange range) {
  if (range.empty()) range = {1, 10};
  // Allow for rounding errors of ticks at the ends.
  const double low = range.low * (1 + 1e-9), high = range.high * (1 - 1e-9);
  const int first = static_cast<int>(std::floor(std::log10(low))),
            last = static_cast<int>(std::ceil(std::log10(high)));
  const int skip = 1 + (last - first) / kMaxDecades;
  std::vector<double> places;
  for (int power = first; power <= last + skip; power += skip) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && last - first > kShortDecades) continue;
      const double tick = factor * std::pow(10.0, power);
      if (tick <= low) places.clear();  // keep only the last tick that is not above the lower end
      if (places.size() > 1 && places.back() >= high) break;
      places.push_back(tick);
    }
  }
  return PlotAxis(true, std::move(places), 0);
}

double PlotAxis::place(double v) const {
  const double low = ticks_.front(), high = ticks_.back();
  return logarithmic_ ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
}

std::string PlotAxis::label(double tick) const {
  return logarithmic_ ? fmt::format("{:g}", tick) : fmt::format("{:.{}f}", tick, decimals_);
}

}  // namespace weft
