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
/// Rounds the score of a beam to six decimal places or, if it is close to 0, to six significant
/// digits. A length penalty scales scores by powers of the length, and their order must remain
/// visible.
double rounded_score(double score);

}  // namespace weft::program
