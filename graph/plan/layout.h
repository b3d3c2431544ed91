// From steps to a finished plan: order, in-place writes, waves, checks and memory.
#pragma once

#include "weft/graph/plan/liveness.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/plan/update_order.h"

namespace weft {

/// Takes a plan whose values, steps (in a legal order), outputs and updates are there, and fills in
/// the rest: both steps below.
void lay_out(Plan& plan);

/// Puts the steps in order; returns the updates that this order lets happen in place, whose steps
/// are numbers in the new order.
std::vector<UpdateChain> order_steps(Plan& plan);
/// Leaves the steps in their order and decides what is written in place, forms waves and assigns
/// all memory.
void lay_out_in_order(Plan& plan, const std::vector<UpdateChain>& chains);

/// Which values share a buffer, and when it is live, while steps run one by one in the order of the
/// plan: waves are formed afterwards.
struct BufferGroups {
  using GroupId = Id<struct GroupTag>;
  struct Group {
    std::size_t bytes = 0;
    ValueId first_value;
    StepId begin, end;  // `end` is Plan::steps.end_id() for what lives to the end
    UpdateId update;    // is made in that variable's memory, if waves allow
  };
  IdVector<GroupId, Group> groups;
  /// The values of a group share memory; by root, none for roots that no step makes.
  IdVector<ValueId, GroupId> group_of;
  /// Roots whose memory a step writes over, which nobody else may read in the same wave.
  IdVector<StepId, std::vector<ValueId>> overwrites;
};

/// Groups for all roots, each alone.
BufferGroups group_buffers(const Plan& plan, const Liveness& liveness);

/// Forms waves of adjacent independent steps that are too small to fill the machine alone, as long
/// as no more memory is needed than without; fills Plan::waves and PlanStep::wave. No wave spans
/// `break_at`.
void form_waves(Plan& plan, const BufferGroups& groups, StepId break_at);

/// Makes every buffer: whose memory it is, its lifetime in waves, scratch, offsets in the arena.
void assign_memory(Plan& plan, const Liveness& liveness, const BufferGroups& groups);

}  // namespace weft
