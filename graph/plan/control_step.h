// Steps of loops and branches.
#pragma once

#include "weft/graph/plan/plan.h"
#include "weft/graph/plan/specialise.h"

namespace weft {

/// Plans the bodies of `node`, whose operands have sizes already: fills in all of `step` but its
/// node and operands. Planning takes the same time for any number of steps.
void plan_control(const Plan& plan, NodeId node, const PlanOptions& options, PlanStep& step);

}  // namespace weft
