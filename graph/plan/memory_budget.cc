#include "weft/graph/plan/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/plan/layout.h"
#include "weft/graph/plan/recompute.h"
#include "weft/graph/plan/report_text.h"
#include "weft/graph/plan/segment_loops.h"

namespace weft {
namespace {

constexpr int kTries = 6;            // targets tried until the arena fits the budget
constexpr int kSearchSteps = 10;     // halvings in the search for the smallest budget
constexpr std::size_t kNearby = 12;  // targets tried above the smallest feasible one
constexpr std::size_t kTiny = 4096;  // copying variables of at most this size is negligible

std::string text(std::size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// A plan with ordered steps but without assigned memory, and the updates that can be made in place
// in this order.
struct Ordered {
  Plan plan;
  std::vector<UpdateChain> chains;
};

// Converts a plan to a RecomputeProblem. The values of the problem are the roots of the plan.
// `whole` is the plan laid out without a budget.
RecomputeProblem describe(const Plan& whole, const std::vector<UpdateChain>& chains) {
  const Liveness liveness = find_liveness(whole);
  RecomputeProblem problem;
  problem.live_out = liveness.at_end;
  problem.bytes.resize(whole.values.size());
  IdVector<ValueId, char> elsewhere(whole.values.size());  // stored outside the arena
  for (const ValueId v : whole.values.ids()) {
    if (!liveness.producer[v].defined()) continue;
    if (whole.buffer_of(v).space == Space::arena) {
      problem.bytes[v] = whole.values[v].bytes;
    } else {
      elsewhere[v] = 1;
    }
  }
  const StepId never(std::numeric_limits<int>::max());
  IdVector<ValueId, StepId> written_at(whole.values.size(), never);
  const IdVector<VariableId, ValueId> variables = variable_reads(whole);
  for (const UpdateChain& chain : chains) {
    const PlanUpdate& update = whole.updates[chain.update];
    const ValueId read = variables[update.variable];
    if (!update.direct || !read.defined() || whole.values[read].bytes <= kTiny) {
      continue;
    }
    written_at[read] = chain.head;
  }
  problem.steps.resize(whole.steps.size());
  for (const StepId s : whole.steps.ids()) {
    const PlanStep& from = whole.steps[s];
    RecomputeProblem::Step& step = problem.steps[s];
    step.scratch = from.kernel.shared_scratch;
    step.cost_ns = from.cost_ns;
    step.can_rematerialise = from.node != nullptr;
    for (const ValueId id : from.outputs) {
      if (!id.defined()) continue;
      step.writes.push_back(id);
      if (elsewhere[id] || problem.live_out[id]) step.can_rematerialise = false;
    }
    for (const ValueId id : from.inputs) {
      const ValueId root = root_of(whole, id);
      if (!root.defined() ||
          std::find(step.reads.begin(), step.reads.end(), root) != step.reads.end()) {
        continue;
      }
      step.reads.push_back(root);
      step.rematerialise_before = std::min(step.rematerialise_before, written_at[root]);
      if (elsewhere[root]) step.can_rematerialise = false;
    }
    if (from.node == nullptr) continue;
    for (const auto& [output, input] : from.may_inplace()) {
      if (!may_overwrite(whole, from, output, input)) continue;
      step.inplace.emplace_back(from.output(output), root_of(whole, from.input(input)));
    }
  }
  return problem;
}

// Adds the second runs of steps to the plan and makes later readers use their results.
class Rematerialiser {
 public:
  Rematerialiser(const Ordered& from, const RecomputeProblem& problem, const Recomputed& recomputed)
      : from_(from), problem_(problem), recomputed_(recomputed) {}

  std::shared_ptr<Plan> run() {
    auto result = std::make_shared<Plan>(from_.plan);
    plan_ = result.get();
    plan_->steps.clear();
    rematerialised_.resize(from_.plan.values.size());
    producer_ = find_liveness(from_.plan).producer;
    IdVector<StepId, StepId> position(from_.plan.steps.size());
    for (const StepRun& run : runs_of(problem_, recomputed_)) {
      const StepId made = plan_->steps.push_back(make_step(run));
      if (!run.rematerialised) position[run.step] = made;
    }
    std::vector<UpdateChain> chains = from_.chains;
    for (UpdateChain& chain : chains) {
      chain.head = position[chain.head];
      for (auto& link : chain.links) link.step = position[link.step];
    }
    lay_out_in_order(*plan_, chains);
    return result;
  }

 private:
  PlanStep make_step(const StepRun& run) {
    PlanStep step = from_.plan.steps[run.step];
    for (ValueId& id : step.inputs) {
      const ValueId root = root_of(from_.plan, id);
      if (!root.defined()) continue;
      if (reads_rematerialised(recomputed_, producer_[root], run.before)) {
        id = rematerialised_value(id);
      }
    }
    if (!run.rematerialised) return step;
    step.rematerialised = true;
    step.kernel.check = nullptr;  // the first run checked the same data
    for (ValueId& id : step.outputs) {
      if (id.defined()) id = rematerialised_value(id);
    }
    return step;
  }

  // Returns the rematerialised counterpart of `id`, which is a new root with its own memory or an
  // alias of such a root.
  ValueId rematerialised_value(ValueId id) {
    const ValueId root = root_of(from_.plan, id);
    if (root != id && !rematerialised_[root].defined()) add(root, {});
    if (!rematerialised_[id].defined()) add(id, rematerialised_[root]);
    return rematerialised_[id];
  }

  void add(ValueId id, ValueId root) {
    const ValueId made = plan_->values.end_id();
    PlanValue value = plan_->values[id];
    value.root = root.defined() ? root : made;
    plan_->values.push_back(std::move(value));
    rematerialised_[id] = made;
  }

  const Ordered& from_;
  const RecomputeProblem& problem_;
  const Recomputed& recomputed_;
  Plan* plan_ = nullptr;
  IdVector<ValueId, StepId> producer_;
  IdVector<ValueId, ValueId> rematerialised_;  // indexed by value: rematerialised counterpart
};

// Searches for the smallest plan. Bisects to find the smallest feasible target (number of live
// bytes), then tries slightly larger targets, because some of them give a smaller arena. The search
// does not depend on the budget, so the budget printed in an error message can always be met.
std::shared_ptr<Plan> smallest_plan(const Ordered& ordered, const RecomputeProblem& problem,
                                    std::shared_ptr<Plan> whole) {
  std::shared_ptr<Plan> best = std::move(whole);
  const auto attempt = [&](std::size_t target) {
    const auto recomputed = choose_recomputed(problem, target);
    if (!recomputed) return false;
    auto plan = Rematerialiser(ordered, problem, *recomputed).run();
    if (plan->arena_bytes < best->arena_bytes) best = std::move(plan);
    return true;
  };
  std::size_t low = 0;
  std::size_t high = peak_bytes(problem, Recomputed(problem.steps.size()));
  for (int i = 0; i < kSearchSteps; ++i) {
    const std::size_t target = low + (high - low) / 2;
    (attempt(target) ? high : low) = target;
  }
  for (std::size_t i = 1; i <= kNearby; ++i) attempt(high + i * high / 512);
  return best;
}

// One variant of the program, in which all loops are unchanged or some loops are split into
// segments.
struct Variant {
  Ordered ordered;
  std::shared_ptr<Plan> whole;  // without rematerialised values
  RecomputeProblem problem;
};

Variant lay_out_variant(Ordered ordered) {
  Variant variant;
  variant.ordered = std::move(ordered);
  variant.whole = std::make_shared<Plan>(variant.ordered.plan);
  lay_out_in_order(*variant.whole, variant.ordered.chains);
  variant.problem = describe(*variant.whole, variant.ordered.chains);
  return variant;
}

// Returns a plan within the budget, with or without rematerialised values, or null if none was
// found.
std::shared_ptr<Plan> fit(const Variant& variant, std::size_t budget) {
  if (variant.whole->arena_bytes <= budget) return variant.whole;
  // Guards and fragmentation make the arena larger than the live bytes, so lower the target by the
  // excess.
  std::size_t target = budget;
  for (int i = 0; i < kTries; ++i) {
    const auto recomputed = choose_recomputed(variant.problem, target);
    if (!recomputed) break;
    auto tried = Rematerialiser(variant.ordered, variant.problem, *recomputed).run();
    if (tried->arena_bytes <= budget) return tried;
    const std::size_t missed = std::max(tried->arena_bytes - budget, budget / 256);
    if (missed >= target) break;
    target -= missed;
  }
  return nullptr;
}

std::shared_ptr<Plan> smallest_plan(const Variant& variant) {
  return smallest_plan(variant.ordered, variant.problem, variant.whole);
}

}  // namespace

std::shared_ptr<const Plan> meet_memory_budget(Plan plan, std::size_t budget) {
  plan.memory_budget = budget;
  Ordered ordered;
  ordered.plan = std::move(plan);
  ordered.chains = order_steps(ordered.plan);
  const Variant as_built = lay_out_variant(std::move(ordered));
  if (auto plan_as_built = fit(as_built, budget)) return plan_as_built;
  // Splits one loop at a time into segments, starting with the largest savings.
  Variant segmented = as_built;
  for (;;) {
    const std::vector<LoopPair> pairs = loops_to_segment(segmented.ordered.plan);
    if (pairs.empty()) break;
    segment_loop(segmented.ordered.plan, pairs.front());
    segmented = lay_out_variant(std::move(segmented.ordered));
    if (auto found = fit(segmented, budget)) return found;
  }
  std::shared_ptr<Plan> smallest = smallest_plan(as_built);
  if (auto other = smallest_plan(segmented); other->arena_bytes < smallest->arena_bytes) {
    smallest = std::move(other);
  }
  if (smallest->arena_bytes <= budget) return smallest;
  const std::size_t without = as_built.whole->arena_bytes;
  const Plan& p = *smallest;
  throw ArgumentError(fmt::format(
      "memory_budget of {} bytes ({}) is too small for program '{}' with {}: its arena needs {} "
      "bytes ({}) with everything computed once and at least {} bytes ({}) with recomputation",
      budget, text(budget), p.program->name,
      p.bindings.str().empty() ? "no symbols" : p.bindings.str(), without, text(without),
      p.arena_bytes, text(p.arena_bytes)));
}

}  // namespace weft
