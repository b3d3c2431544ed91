// Random programs: graphs of ops drawn from the records, with everything a run needs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/tests/programs/case.h"

namespace weft::testing {

/// How often each record was used, and kOwnGradients.
using Coverage = std::map<std::string, int>;
/// Functions with a gradient of their own.
inline constexpr char kOwnGradients[] = "own gradients";

/// The program of a seed. Ops come from builtin_ops(): operands and attributes are tried until the
/// record's shape rule takes them, or a sample of the record is grown into the graph. Every op is
/// evaluated by its scalar model while the graph is made, so that data stay legal and tame.
/// `coverage` is added to. A program is a function of its seed.
Case generate_case(std::uint64_t seed, Coverage& coverage);

}  // namespace weft::testing
