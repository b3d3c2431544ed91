// Program runs that check the results for NaN and infinity before they are shown to users.
#pragma once

#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// Throws DataError if the results contain NaN or +infinity; see run_checked().
void check_results(const Results& results);

/// Returns the results of Session::run. Throws DataError if they contain NaN or +infinity, which
/// can happen even with finite weights if these are so large that results overflow.
Results run_checked(Session& session, const Program& program, const NamedTensors& inputs);

}  // namespace weft
