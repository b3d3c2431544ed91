// Ways to run a graph that must not matter.
#pragma once

#include <string>

#include "weft/tests/kit/vary_sample.h"
#include "weft/tests/records/session_case.h"

namespace weft::testing {

/// Runs a case without passes, then poisoned and shuffled, with passes, prepacked and under a
/// memory budget; says where the bits (or the errors) differ, "" if nowhere.
std::string compare_ways(const SessionCase& built, Draw& draw);

}  // namespace weft::testing
