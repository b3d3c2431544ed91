// Planning of the steps of loops and branches.
#pragma once

#include "weft/graph/plan/plan.h"
#include "weft/graph/plan/specialise.h"

namespace weft {

/// Plans the bodies of `node`, whose operands already have sizes, and fills in all of `step` except
/// its node and operands. The planning time does not depend on the number of iterations.
void plan_control(const Plan& plan, NodeId node, const PlanOptions& options, PlanStep& step);

}  // namespace weft
