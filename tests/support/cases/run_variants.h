// Runs a graph under many conditions that must not change its results.
#pragma once

#include <string>

#include "weft/tests/support/cases/session_case.h"
#include "weft/tests/support/cases/vary_sample.h"

namespace weft::testing {

/// Runs a case without passes and then in other ways: poisoned and shuffled, with passes,
/// prepacked, on several threads, after other runs of the same Session, called in an unusual
/// floating-point environment, with checks for non-finite values, and under a memory budget. All
/// runs use the same precision. Returns a description of the first difference in bits or errors, or
/// "".
std::string compare_run_variants(const SessionCase& built, Draw& draw);

/// Checks that 1, 2, 3 and 5 threads give the same bits, including the bits of NaNs.
std::string compare_threads(const SessionCase& built, Draw& draw);

}  // namespace weft::testing
