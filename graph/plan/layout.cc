#include "weft/graph/plan/layout.h"

#include <algorithm>

#include "weft/graph/plan/schedule.h"

namespace weft {
namespace {

using Index = std::size_t;

// Puts the steps in the order that scheduling finds; returns the new number of every step.
std::vector<int> apply_schedule(Plan& plan, const Uses& uses, const UpdateOrder& updates) {
  ScheduleProblem problem;
  problem.bytes.resize(plan.values.size());
  problem.kept = uses.at_end;
  for (Index v = 0; v < plan.values.size(); ++v) {
    if (uses.producer[v] >= 0) problem.bytes[v] = plan.values[v].bytes;
  }
  problem.steps.resize(plan.steps.size());
  for (Index v = 0; v < plan.values.size(); ++v) {
    for (int s : uses.readers[v]) {
      problem.steps[static_cast<Index>(s)].reads.push_back(static_cast<int>(v));
    }
  }
  for (Index s = 0; s < plan.steps.size(); ++s) {
    for (int id : plan.steps[s].outputs) {
      if (id >= 0) problem.steps[s].writes.push_back(id);
    }
  }
  problem.edges = updates.edges;
  const std::vector<int> order = schedule(problem);
  std::vector<int> position(order.size());
  std::vector<PlanStep> steps(order.size());
  for (Index p = 0; p < order.size(); ++p) {
    position[static_cast<Index>(order[p])] = static_cast<int>(p);
    steps[p] = std::move(plan.steps[static_cast<Index>(order[p])]);
  }
  plan.steps = std::move(steps);
  return position;
}

// True if, in the order of steps, everybody else has read the variable before the chain's head.
bool head_comes_last(const Plan& plan, const Uses& uses, const std::vector<int>& reads,
                     const UpdateChain& chain, int break_at) {
  if (chain.head < break_at) return false;
  const int variable = plan.updates[static_cast<Index>(chain.update)].variable;
  const int read = reads[static_cast<Index>(variable)];
  if (read < 0) return true;
  for (int r : uses.readers[static_cast<Index>(read)]) {
    if (r > chain.head || (r == chain.head && chain.input < 0)) return false;
  }
  return true;
}

// Lets `to` join the group of `from` at step `s`, which writes one over the other.
void join(Plan& plan, Occupation& o, int s, int output, int input) {
  PlanStep& step = plan.steps[static_cast<Index>(s)];
  const int to = step.outputs[static_cast<Index>(output)];
  const int from = root_of(plan, step.inputs[static_cast<Index>(input)]);
  const int group = o.group_of[static_cast<Index>(from)];
  Occupation::Group& own = o.groups[static_cast<Index>(o.group_of[static_cast<Index>(to)])];
  Occupation::Group& joined = o.groups[static_cast<Index>(group)];
  joined.end = own.end;
  own.bytes = 0;
  own.first_value = -1;
  o.group_of[static_cast<Index>(to)] = group;
  step.inplace.emplace_back(output, input);
  o.overwrites[static_cast<Index>(s)].push_back(from);
}

// Input `input` of step `s` may be written over: it dies there and belongs to nobody else.
bool dies_at(const Plan& plan, const Uses& uses, const Occupation& o, int s, int input) {
  const int from =
      root_of(plan, plan.steps[static_cast<Index>(s)].inputs[static_cast<Index>(input)]);
  const auto f = static_cast<Index>(from);
  if (uses.producer[f] < 0 || uses.at_end[f] || uses.readers[f].back() != s) return false;
  const std::vector<int>& taken = o.overwrites[static_cast<Index>(s)];
  return std::find(taken.begin(), taken.end(), from) == taken.end();
}

void write_in_place(Plan& plan, const Uses& uses, const std::vector<UpdateChain>& chains,
                    const std::vector<int>& reads, int break_at, Occupation& o) {
  // What chains of updates want comes first; a head keeps its outputs for the variables' memory.
  std::vector<std::vector<std::pair<int, int>>> wanted(plan.steps.size());
  std::vector<std::vector<int>> held_outputs(plan.steps.size());
  std::vector<const UpdateChain*> legal;
  for (const UpdateChain& chain : chains) {
    if (!head_comes_last(plan, uses, reads, chain, break_at)) continue;
    legal.push_back(&chain);
    if (chain.input >= 0) held_outputs[static_cast<Index>(chain.head)].push_back(chain.output);
    for (const auto& link : chain.links) {
      wanted[static_cast<Index>(link.step)].emplace_back(link.output, link.input);
    }
  }
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const PlanStep& step = plan.steps[static_cast<Index>(s)];
    if (step.node == nullptr) continue;
    const auto in_place = [&](int output) {
      return std::any_of(step.inplace.begin(), step.inplace.end(),
                         [&](const auto& pair) { return pair.first == output; });
    };
    for (const auto& [output, input] : wanted[static_cast<Index>(s)]) {
      // Two variables may take one value: it is made over one operand only.
      if (!in_place(output) && dies_at(plan, uses, o, s, input)) join(plan, o, s, output, input);
    }
    const std::vector<int>& held = held_outputs[static_cast<Index>(s)];
    for (const auto& [out, in] : step.node->op().inplace) {
      if (std::find(held.begin(), held.end(), out) != held.end()) continue;
      if (!may_overwrite(plan, step, out, in) || in_place(out)) continue;
      if (dies_at(plan, uses, o, s, in)) join(plan, o, s, out, in);
    }
  }
  for (const UpdateChain* chain : legal) {
    const PlanUpdate& update = plan.updates[static_cast<Index>(chain->update)];
    const int root = root_of(plan, update.value);
    Occupation::Group& group = o.groups[static_cast<Index>(o.group_of[static_cast<Index>(root)])];
    // The group may have begun before the head, where it went on from another operand.
    if (group.begin != chain->head || group.update >= 0) continue;
    group.update = chain->update;
    const int read = reads[static_cast<Index>(update.variable)];
    if (read >= 0) o.overwrites[static_cast<Index>(chain->head)].push_back(read);
    if (chain->input >= 0) {
      plan.steps[static_cast<Index>(chain->head)].inplace.emplace_back(chain->output, chain->input);
    }
  }
}

// A check runs before the first wave in which all integers that it reads are there.
void place_checks(Plan& plan, const Uses& uses) {
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const PlanStep& step = plan.steps[static_cast<Index>(s)];
    if (!step.kernel.check) continue;
    int wave = 0;
    for (int p : check_producers(plan, uses, step)) {
      wave = std::max(wave, plan.steps[static_cast<Index>(p)].wave + 1);
    }
    plan.waves[static_cast<Index>(wave)].checks.push_back(s);
  }
}

}  // namespace

Occupation occupy(const Plan& plan, const Uses& uses) {
  Occupation o;
  o.group_of.assign(plan.values.size(), -1);
  o.overwrites.resize(plan.steps.size());
  for (Index v = 0; v < plan.values.size(); ++v) {
    if (uses.producer[v] < 0) continue;
    Occupation::Group group;
    group.bytes = plan.values[v].bytes;
    group.first_value = static_cast<int>(v);
    group.begin = group.end = uses.producer[v];
    if (!uses.readers[v].empty()) group.end = uses.readers[v].back();
    if (uses.at_end[v]) group.end = static_cast<int>(plan.steps.size());
    o.group_of[v] = static_cast<int>(o.groups.size());
    o.groups.push_back(group);
  }
  return o;
}

std::vector<UpdateChain> order_steps(Plan& plan) {
  const Uses uses = collect_uses(plan);
  UpdateOrder updates = order_updates(plan, uses);
  const std::vector<int> position = apply_schedule(plan, uses, updates);
  for (UpdateChain& chain : updates.chains) {
    chain.head = position[static_cast<Index>(chain.head)];
    for (auto& link : chain.links) link.step = position[static_cast<Index>(link.step)];
  }
  return std::move(updates.chains);
}

void place(Plan& plan, const std::vector<UpdateChain>& chains) {
  const Uses uses = collect_uses(plan);
  const std::vector<int> producers = check_producers(plan, uses);
  const int break_at = producers.empty() ? 0 : producers.back() + 1;
  Occupation occupation = occupy(plan, uses);
  write_in_place(plan, uses, chains, variable_reads(plan), break_at, occupation);
  form_waves(plan, occupation, break_at);
  place_checks(plan, uses);
  place_memory(plan, uses, occupation);
}

void lay_out(Plan& plan) { place(plan, order_steps(plan)); }

}  // namespace weft
