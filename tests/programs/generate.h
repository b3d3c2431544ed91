// Random programs: graphs of ops drawn from the records, with everything that is needed to run
// them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/tests/programs/case.h"

namespace weft::testing {

/// Counts the uses of each record, and of kCustomGradients.
using Coverage = std::map<std::string, int>;
/// Counts functions with a custom gradient.
inline constexpr char kCustomGradients[] = "own gradients";

/// Generates the program of a seed; the program depends on nothing else. Ops come from
/// builtin_ops(): operands and attributes are tried until the shape rule of the record accepts
/// them, or a sample of the record is added to the graph. Every op is evaluated by its scalar model
/// while the graph is built, so that data stays valid and values stay small. Uses of records are
/// added to `coverage`.
Case generate_case(std::uint64_t seed, Coverage& coverage);

}  // namespace weft::testing
