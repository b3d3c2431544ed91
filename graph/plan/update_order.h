// Making updates fall into place: the orderings that let a new value be written straight over the
// variable.
#pragma once

#include <utility>
#include <vector>

#include "weft/graph/plan/liveness.h"

namespace weft {

/// How the value of one update may come to be made in its variable's memory: `head` is the first
/// step that would write there; it does so over the variable itself where `input` >= 0.
struct UpdateChain {
  UpdateId update;
  StepId head;
  int output = -1, input = -1;
  /// Steps after the head that go on in place: {step, output, input}.
  struct Link {
    StepId step;
    int output, input;
  };
  std::vector<Link> links;
};

/// Chains for all updates that could be written in place, and the (before, after) edges of steps
/// that make them legal: every other reader of the variable, and everything that a check of data
/// waits for, comes before the head. A chain whose edges would close a cycle is left out (its
/// update is copied at the end).
struct UpdateOrder {
  std::vector<UpdateChain> chains;
  std::vector<std::pair<StepId, StepId>> edges;
};
UpdateOrder order_updates(const Plan& plan, const Liveness& liveness);

}  // namespace weft
