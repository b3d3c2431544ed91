// Results for other programs: a JSON object on each line.
#pragma once

#include <nlohmann/json.hpp>

namespace weft::program {

/// Keys stay in the order in which they were added.
using JsonLine = nlohmann::ordered_json;

/// Writes one to stdout. Bytes that are no UTF-8 become U+FFFD.
void say_json(const JsonLine& line);

/// A measured number as people and programs read it: six digits behind the point. JSON has no NaN
/// and no infinity: null stands for them.
double rounded(double value);

}  // namespace weft::program
