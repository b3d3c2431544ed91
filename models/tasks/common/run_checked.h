// Program runs that check their results for NaN and infinity before users see them.
#pragma once

#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// Throws DataError if results contain NaN or +infinity; see run_checked().
void check_results(const Results& results);

/// Returns the results of Session::run. Throws DataError if they contain NaN or +infinity: finite
/// weights can be so large that everything computed from them overflows.
Results run_checked(Session& session, const Program& program, const NamedTensors& inputs);

}  // namespace weft
