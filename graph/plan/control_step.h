// Planning of the steps of loops and branches.
#pragma once

#include "weft/graph/plan/plan.h"
#include "weft/graph/plan/specialise.h"

namespace weft {

/// Plans the bodies of `node` and sets all members of `step` except its node and operands. The
/// operands must already have concrete sizes. The planning time does not depend on the number of
/// iterations.
void plan_control(const Plan& plan, NodeId node, const PlanOptions& options, PlanStep& step);

}  // namespace weft
