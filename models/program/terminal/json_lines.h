// Machine-readable results: one JSON object per line.
#pragma once

#include <nlohmann/json.hpp>

namespace weft::program {

/// A JSON object whose keys keep the order in which they were added.
using JsonLine = nlohmann::ordered_json;

/// Writes a line to stdout. Bytes that are not valid UTF-8 become U+FFFD.
void say_json(const JsonLine& line);

/// Rounds a measured number to six decimal places. In JSON output, NaN and infinity become null,
/// because JSON has neither.
double rounded(double value);

}  // namespace weft::program
