// Orderings of steps that allow the new value of a variable to directly overwrite the old value.
#pragma once

#include <utility>
#include <vector>

#include "weft/graph/plan/liveness.h"

namespace weft {

/// A chain of steps that can produce the value of one update in its variable's memory. `head` is
/// the first step that would write to this memory. If `input` >= 0, the variable is operand `input`
/// of the head, which overwrites it with output `output`.
struct UpdateChain {
  UpdateId update;
  StepId head;
  int output = -1, input = -1;
  /// A step after the head that continues in place: `output` overwrites `input`.
  struct Link {
    StepId step;
    int output, input;
  };
  std::vector<Link> links;
};

/// Chains for all updates that can be written in place, and the (before, after) edges between steps
/// that make the chains legal: all other readers of the variable, and all steps that data checks
/// depend on, come before the head. If the edges of a chain would close a cycle, the chain is
/// omitted and the update is copied at the end of the run.
struct UpdateOrder {
  std::vector<UpdateChain> chains;
  std::vector<std::pair<StepId, StepId>> edges;
};
UpdateOrder order_updates(const Plan& plan, const Liveness& liveness);

}  // namespace weft
