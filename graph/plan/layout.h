// Layout: turns steps into a finished plan with order, in-place writes, waves, checks and memory.
#pragma once

#include "weft/graph/plan/liveness.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/plan/update_order.h"

namespace weft {

/// Completes a plan that has values, steps (in a legal order), outputs and updates. Equivalent to
/// order_steps followed by lay_out_in_order.
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
    UpdateId update;    // if the waves allow it, this update is made in its variable's memory
  };
  IdVector<GroupId, Group> groups;
  /// By root: the group with which it shares memory; undefined if no step makes the root.
  IdVector<ValueId, GroupId> group_of;
  /// By step: the roots whose memory it overwrites. No other step of its wave may read them.
  IdVector<StepId, std::vector<ValueId>> overwrites;
};

/// Returns one group per root that a step makes.
BufferGroups group_buffers(const Plan& plan, const Liveness& liveness);

/// Forms waves of adjacent independent steps that are too small to use all cores alone, provided
/// that this needs no more memory than running them one at a time. Fills Plan::waves and
/// PlanStep::wave. No wave spans `break_at`.
void form_waves(Plan& plan, const BufferGroups& groups, StepId break_at);

/// Creates every buffer, including scratch: its space, its lifetime in waves, and its arena offset.
void assign_memory(Plan& plan, const Liveness& liveness, const BufferGroups& groups);

}  // namespace weft
