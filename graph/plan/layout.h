// Layout: completes a plan by choosing the order of steps, in-place writes, waves, data checks and
// memory.
#pragma once

#include "weft/graph/plan/liveness.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/plan/update_order.h"

namespace weft {

/// Completes a plan that consists of values, steps (in a legal order), outputs and updates.
/// Equivalent to order_steps followed by lay_out_in_order.
void lay_out(Plan& plan);

/// Orders the steps. Returns the updates that can be made in place in this order; their StepIds
/// refer to the new order.
std::vector<UpdateChain> order_steps(Plan& plan);
/// Keeps the order of the steps, chooses the in-place writes, forms waves and assigns all memory.
void lay_out_in_order(Plan& plan, const std::vector<UpdateChain>& chains);

/// The values that share a buffer, and the lifetime of each buffer if steps run one at a time in
/// the plan's order (waves are formed later).
struct BufferGroups {
  using GroupId = Id<struct GroupTag>;
  struct Group {
    std::size_t bytes = 0;
    ValueId first_value;
    StepId begin, end;  // `end` is Plan::steps.end_id() if the group lives until the end of the run
    UpdateId update;    // this update is written to the variable's memory if the waves allow it
  };
  IdVector<GroupId, Group> groups;
  /// Indexed by root: the group of the root; undefined if no step produces the root.
  IdVector<ValueId, GroupId> group_of;
  /// Indexed by step: the roots that the step overwrites. No other step in the same wave may read
  /// these roots.
  IdVector<StepId, std::vector<ValueId>> overwrites;
};

/// Assigns every root that a step produces to a group.
BufferGroups group_buffers(const Plan& plan, const Liveness& liveness);

/// Forms waves of adjacent independent steps that are too small to use all cores alone. A wave must
/// not need more memory than running its steps one at a time. Fills Plan::waves and PlanStep::wave.
/// No wave spans `break_at`.
void form_waves(Plan& plan, const BufferGroups& groups, StepId break_at);

/// Creates all buffers, including scratch, and sets their spaces, lifetimes in waves and arena
/// offsets.
void assign_memory(Plan& plan, const Liveness& liveness, const BufferGroups& groups);

}  // namespace weft
