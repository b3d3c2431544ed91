// Random programs: graphs of ops drawn from the records, together with everything that is needed to
// run them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/tests/random_programs/case.h"

namespace weft::testing {

/// The number of uses of each record and of kCustomGradients.
using Coverage = std::map<std::string, int>;
/// The Coverage key that counts functions with a custom gradient.
inline constexpr char kCustomGradients[] = "own gradients";

/// Generates a program that depends only on the seed. The ops come from builtin_ops(). Operands and
/// attributes are tried until the shape rule of the record accepts them; alternatively, a sample of
/// the record is added to the graph. Every op is evaluated with its scalar model while the graph is
/// built, so that data stays valid and values stay small. The uses of each record are added to
/// `coverage`.
Case generate_case(std::uint64_t seed, Coverage& coverage);

}  // namespace weft::testing
