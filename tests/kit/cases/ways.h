// Ways to run a graph that must not matter.
#pragma once

#include <string>

#include "weft/tests/kit/cases/session_case.h"
#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

/// Runs a case without passes, then poisoned and shuffled, with passes, prepacked, on several
/// threads, after other runs of the same Session, called in an odd floating-point environment, with
/// checks for what is not finite, under a memory budget, always at one precision; says where the
/// bits (or the errors) differ, "" if nowhere.
std::string compare_ways(const SessionCase& built, Draw& draw);

/// The same bits on 1, 2, 3 and 5 threads, NaNs included.
std::string compare_threads(const SessionCase& built, Draw& draw);

}  // namespace weft::testing
