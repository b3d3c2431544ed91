#include "weft/models/program/terminal/json_lines.h"

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

}  // namespace weft::program
