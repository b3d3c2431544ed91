#include "weft/models/program/terminal/json_lines.h"

#include <algorithm>
#include <cmath>

#include "weft/models/program/terminal/console.h"

namespace weft::program {

void say_json(const JsonLine& line) {
  say("{}\n", line.dump(-1, ' ', false, JsonLine::error_handler_t::replace));
}

double rounded(double value) {
  constexpr double kScale = 1e6;
  return std::round(value * kScale) / kScale;
}

double rounded_score(double score) {
  if (score == 0 || !std::isfinite(score) || std::abs(score) >= 1) return rounded(score);
  constexpr int kDigits = 6;
  const double scale = std::pow(
      10.0,
      std::max(kDigits, kDigits - 1 - static_cast<int>(std::floor(std::log10(std::abs(score))))));
  return std::round(score * scale) / scale;
}

}  // namespace weft::program
