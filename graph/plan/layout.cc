#include "weft/graph/plan/layout.h"

#include <algorithm>

#include "weft/graph/plan/schedule.h"

namespace weft {
namespace {

// Reorders the steps by schedule(). Returns the new id of every step.
IdVector<StepId, StepId> apply_schedule(Plan& plan, const Liveness& liveness,
                                        const UpdateOrder& updates) {
  ScheduleProblem problem;
  problem.bytes.resize(plan.values.size());
  problem.live_out = liveness.at_end;
  for (const ValueId v : plan.values.ids()) {
    if (liveness.producer[v].defined()) problem.bytes[v] = plan.values[v].bytes;
  }
  problem.steps.resize(plan.steps.size());
  for (const ValueId v : plan.values.ids()) {
    for (const StepId s : liveness.readers[v]) {
      problem.steps[s].reads.push_back(v);
    }
  }
  for (const StepId s : plan.steps.ids()) {
    for (const ValueId id : plan.steps[s].outputs) {
      if (id.defined()) problem.steps[s].writes.push_back(id);
    }
  }
  problem.edges = updates.edges;
  const std::vector<StepId> order = schedule(problem);
  IdVector<StepId, StepId> position(order.size());
  IdVector<StepId, PlanStep> steps;
  steps.reserve(order.size());
  for (const StepId s : order) position[s] = steps.push_back(std::move(plan.steps[s]));
  plan.steps = std::move(steps);
  return position;
}

// Returns true if, in the order of steps, all other readers of the variable come before the chain's
// head, and the head does not read the variable through any other operand. (A loop that replays
// another loop also reads the operands of that loop.)
bool head_comes_last(const Plan& plan, const Liveness& liveness,
                     const IdVector<VariableId, ValueId>& reads, const UpdateChain& chain,
                     StepId break_at) {
  if (chain.head < break_at) return false;
  const ValueId read = reads[plan.updates[chain.update].variable];
  if (!read.defined()) return true;
  const bool over_itself =
      chain.input >= 0 && may_overwrite(plan, plan.steps[chain.head], chain.output, chain.input);
  for (const StepId r : liveness.readers[read]) {
    if (r > chain.head || (r == chain.head && !over_itself)) return false;
  }
  return true;
}

// Step `s` overwrites `input` with `output`: merges the group of the output into the group of the
// input.
void merge_groups(Plan& plan, BufferGroups& o, StepId s, int output, int input) {
  PlanStep& step = plan.steps[s];
  const ValueId to = step.output(output), from = root_of(plan, step.input(input));
  const BufferGroups::GroupId group = o.group_of[from];
  BufferGroups::Group& own = o.groups[o.group_of[to]];
  BufferGroups::Group& joined = o.groups[group];
  joined.end = own.end;
  own.bytes = 0;
  own.first_value = {};
  o.group_of[to] = group;
  step.inplace.emplace_back(output, input);
  o.overwrites[s].push_back(from);
}

// Returns true if step `s` may overwrite its input `input`, that is, if `s` is the last reader of
// the value and no other output of `s` overwrites it.
bool dies_at(const Plan& plan, const Liveness& liveness, const BufferGroups& o, StepId s,
             int input) {
  const ValueId from = root_of(plan, plan.steps[s].input(input));
  if (!liveness.producer[from].defined() || liveness.at_end[from]) return false;
  if (liveness.readers[from].back() != s) return false;
  const std::vector<ValueId>& taken = o.overwrites[s];
  return std::find(taken.begin(), taken.end(), from) == taken.end();
}

void write_in_place(Plan& plan, const Liveness& liveness, const std::vector<UpdateChain>& chains,
                    const IdVector<VariableId, ValueId>& reads, StepId break_at, BufferGroups& o) {
  // Update chains take precedence: the outputs of a chain's head are reserved for the variables'
  // memory.
  IdVector<StepId, std::vector<std::pair<int, int>>> wanted(plan.steps.size());
  IdVector<StepId, std::vector<int>> held_outputs(plan.steps.size());
  std::vector<const UpdateChain*> legal;
  for (const UpdateChain& chain : chains) {
    if (!head_comes_last(plan, liveness, reads, chain, break_at)) continue;
    legal.push_back(&chain);
    if (chain.input >= 0) held_outputs[chain.head].push_back(chain.output);
    for (const auto& link : chain.links) {
      wanted[link.step].emplace_back(link.output, link.input);
    }
  }
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    if (step.node == nullptr) continue;
    const auto in_place = [&](int output) {
      return std::any_of(step.inplace.begin(), step.inplace.end(),
                         [&](const auto& pair) { return pair.first == output; });
    };
    for (const auto& [output, input] : wanted[s]) {
      // Two updates may share one value, but a value can overwrite only one operand.
      if (in_place(output) || !may_overwrite(plan, step, output, input)) continue;
      if (dies_at(plan, liveness, o, s, input)) merge_groups(plan, o, s, output, input);
    }
    const std::vector<int>& held = held_outputs[s];
    for (const auto& [out, in] : step.may_inplace()) {
      if (std::find(held.begin(), held.end(), out) != held.end()) continue;
      if (!may_overwrite(plan, step, out, in) || in_place(out)) continue;
      if (dies_at(plan, liveness, o, s, in)) merge_groups(plan, o, s, out, in);
    }
  }
  for (const UpdateChain* chain : legal) {
    const PlanUpdate& update = plan.updates[chain->update];
    const ValueId root = root_of(plan, update.value);
    BufferGroups::Group& group = o.groups[o.group_of[root]];
    // The group may begin before the head if the head overwrites another operand in place. The
    // chain may span several groups if another chain uses one of its steps.
    if (group.begin != chain->head || group.update.defined()) continue;
    if (chain->input >= 0 &&
        o.group_of[plan.steps[chain->head].output(chain->output)] != o.group_of[root]) {
      continue;
    }
    group.update = chain->update;
    const ValueId read = reads[update.variable];
    if (read.defined()) o.overwrites[chain->head].push_back(read);
    if (chain->input >= 0) {
      plan.steps[chain->head].inplace.emplace_back(chain->output, chain->input);
    }
  }
}

// Schedules every check before the first wave at which all integers that it reads are available.
void place_checks(Plan& plan, const Liveness& liveness) {
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    if (!step.kernel.check) continue;
    WaveId wave(0);
    for (const StepId p : check_producers(plan, liveness, step)) {
      wave = std::max(wave, plan.steps[p].wave + 1);
    }
    plan.waves[wave].checks.push_back(s);
  }
}

}  // namespace

BufferGroups group_buffers(const Plan& plan, const Liveness& liveness) {
  BufferGroups o;
  o.group_of.resize(plan.values.size());
  o.overwrites.resize(plan.steps.size());
  for (const ValueId v : plan.values.ids()) {
    if (!liveness.producer[v].defined()) continue;
    BufferGroups::Group group;
    group.bytes = plan.values[v].bytes;
    group.first_value = v;
    group.begin = group.end = liveness.producer[v];
    if (!liveness.readers[v].empty()) group.end = liveness.readers[v].back();
    if (liveness.at_end[v]) group.end = plan.steps.end_id();
    o.group_of[v] = o.groups.push_back(group);
  }
  return o;
}

std::vector<UpdateChain> order_steps(Plan& plan) {
  const Liveness liveness = find_liveness(plan);
  UpdateOrder updates = order_updates(plan, liveness);
  const IdVector<StepId, StepId> position = apply_schedule(plan, liveness, updates);
  for (UpdateChain& chain : updates.chains) {
    chain.head = position[chain.head];
    for (auto& link : chain.links) link.step = position[link.step];
  }
  return std::move(updates.chains);
}

void lay_out_in_order(Plan& plan, const std::vector<UpdateChain>& chains) {
  const Liveness liveness = find_liveness(plan);
  const std::vector<StepId> producers = check_producers(plan, liveness);
  const StepId break_at = producers.empty() ? StepId(0) : producers.back() + 1;
  BufferGroups groups = group_buffers(plan, liveness);
  write_in_place(plan, liveness, chains, variable_reads(plan), break_at, groups);
  form_waves(plan, groups, break_at);
  place_checks(plan, liveness);
  assign_memory(plan, liveness, groups);
}

void lay_out(Plan& plan) { lay_out_in_order(plan, order_steps(plan)); }

}  // namespace weft
