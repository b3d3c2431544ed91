// Running programs whose results people are told.
#pragma once

#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// Throws DataError where results hold NaN or +infinity: see run_checked().
void check_results(const Results& results);

/// What Session::run gives. Throws DataError where it holds NaN or +infinity: weights may be finite
/// each, and so large that nothing that is computed with them is.
Results run_checked(Session& session, const Program& program, const NamedTensors& inputs);

}  // namespace weft
