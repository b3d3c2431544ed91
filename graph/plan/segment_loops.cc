#include "weft/graph/plan/segment_loops.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/graph/plan/control_plan.h"
#include "weft/graph/plan/liveness.h"

namespace weft {

std::size_t checkpoint_bytes(const std::vector<CarryPlan>& carries, std::vector<std::size_t>* at) {
  std::size_t bytes = 0;
  for (const CarryPlan& carry : carries) {
    if (at != nullptr) at->push_back(bytes);
    if (carry.variable.defined()) bytes += aligned_size(carry.bytes);
  }
  return bytes;
}

namespace {

using Index = std::size_t;

constexpr std::int64_t kMinSteps = 4;

// Returns the plan of the step if it is a scan that is long enough and not yet split into segments;
// otherwise null.
const ControlPlan* unsegmented_loop(const PlanStep& step) {
  const ControlPlan* c = step.control.get();
  return c != nullptr && c->op == ControlOp::scan && c->segment == 0 && c->length >= kMinSteps
             ? c
             : nullptr;
}

std::int64_t segments_of(const ControlPlan& loop, std::int64_t segment) {
  return (loop.length + segment - 1) / segment;
}

// Returns true if `step`, a scan, reads `value` only as a sequence, not through an alias, a carry
// or another operand.
bool is_only_sequence(const Plan& plan, const PlanStep& step, ValueId value) {
  const Attributes& a = step.node->attributes();
  const auto begin = static_cast<Index>(a.integer("carries"));
  const Index end = begin + static_cast<Index>(a.integer("sequences"));
  for (Index i = 0; i < step.inputs.size(); ++i) {
    if (root_of(plan, step.inputs[i]) != value) continue;
    if (step.inputs[i] != value || i < begin || i >= end) return false;
  }
  return true;
}

class PairFinder {
 public:
  explicit PairFinder(const Plan& plan) : plan_(plan), liveness_(find_liveness(plan)) {}

  std::vector<LoopPair> run() {
    std::vector<LoopPair> pairs;
    for (const StepId s : plan_.steps.ids()) {
      const ControlPlan* loop = unsegmented_loop(plan_.steps[s]);
      if (loop == nullptr) continue;
      LoopPair best;
      for (const StepId consumer : readers(s)) {
        LoopPair pair = pair_of(s, consumer);
        if (pair.saved > best.saved) best = std::move(pair);
      }
      if (best.saved > 0) pairs.push_back(std::move(best));
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const LoopPair& a, const LoopPair& b) { return a.saved > b.saved; });
    return pairs;
  }

 private:
  std::vector<StepId> readers(StepId s) const {
    std::vector<StepId> result;
    for (const ValueId v : plan_.steps[s].outputs) {
      if (!v.defined() || liveness_.readers[v].size() != 1) continue;
      const StepId reader = liveness_.readers[v].front();
      if (std::find(result.begin(), result.end(), reader) == result.end()) result.push_back(reader);
    }
    return result;
  }

  LoopPair pair_of(StepId s, StepId consumer) const {
    const PlanStep &from = plan_.steps[s], &to = plan_.steps[consumer];
    const ControlPlan *loop = from.control.get(), *back = unsegmented_loop(to);
    LoopPair pair{s, consumer, {}, 0, 0};
    if (back == nullptr || back->length != loop->length || back->reverse == loop->reverse) {
      return pair;
    }
    std::size_t dropped = 0;
    for (Index o = loop->carries.size(); o < from.outputs.size(); ++o) {
      const ValueId v = from.outputs[o];
      if (!v.defined() || liveness_.at_end[v] || liveness_.readers[v] != std::vector{consumer} ||
          !is_only_sequence(plan_, to, v)) {
        continue;
      }
      pair.dropped.push_back(static_cast<int>(o));
      dropped += plan_.values[v].bytes;
    }
    if (dropped == 0) return pair;
    const auto length = static_cast<double>(loop->length);
    const std::size_t carries = std::max<std::size_t>(checkpoint_bytes(loop->carries), 1);
    const std::size_t element = dropped / static_cast<std::size_t>(loop->length);
    const double best = std::sqrt(length * static_cast<double>(carries) /
                                  static_cast<double>(std::max<std::size_t>(element, 1)));
    pair.segment = std::clamp<std::int64_t>(std::llround(best), 1, loop->length - 1);
    const std::size_t kept = carries * static_cast<std::size_t>(segments_of(*loop, pair.segment)) +
                             element * static_cast<std::size_t>(pair.segment) +
                             from.kernel.shared_scratch;
    pair.saved = dropped > kept ? dropped - kept : 0;
    return pair;
  }

  const Plan& plan_;
  const Liveness liveness_;
};

// Reserves memory at the end of a step's scratch.
class Scratch {
 public:
  explicit Scratch(PlanStep& step) : bytes_(step.kernel.shared_scratch) {}
  ScratchRange reserve(std::size_t bytes) {
    if (bytes == 0) return {};
    bytes_ = aligned_size(bytes_);
    const ScratchRange range{bytes_, bytes};
    bytes_ += aligned_size(bytes);
    return range;
  }
  Ring ring(std::size_t element, std::size_t slots) {
    // Elements of zero bytes also need an address.
    return {reserve(std::max<std::size_t>(element * slots, 1)), slots};
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
};

// Returns a ring for an output of a body that is not kept. The ring has two slots if the next
// iteration reads a carry from this output.
Ring transient_ring(Scratch& scratch, const ControlPlan& loop, Index output) {
  const auto carried = [&](const CarryPlan& carry) {
    return carry.storage == CarryStorage::output && carry.output == static_cast<int>(output);
  };
  const bool read = std::any_of(loop.carries.begin(), loop.carries.end(), carried);
  return scratch.ring(loop.bodies[0].output_strides[output], read ? 2 : 1);
}

bool drops(const LoopPair& pair, int output) {
  return std::find(pair.dropped.begin(), pair.dropped.end(), output) != pair.dropped.end();
}

// Makes the first loop write checkpoints instead of the dropped results. Returns the value that
// holds the checkpoints.
ValueId keep_checkpoints(Plan& plan, const LoopPair& pair) {
  PlanStep& step = plan.steps[pair.loop];
  ControlPlan control = *step.control;
  BodyPlan& body = control.bodies[0];
  Scratch scratch(step);
  body.output_rings.resize(body.outputs.size());
  for (Index o = 0; o < body.outputs.size(); ++o) {
    if (drops(pair, body.outputs[o])) body.output_rings[o] = transient_ring(scratch, control, o);
  }
  for (const int o : pair.dropped) step.outputs[static_cast<Index>(o)] = ValueId();
  control.segment = pair.segment;
  control.checkpoints = static_cast<int>(step.outputs.size());
  const ValueId kept = plan.values.end_id();
  PlanValue value;
  value.dtype = DType::u8;
  value.bytes = checkpoint_bytes(control.carries) *
                static_cast<std::size_t>(segments_of(control, pair.segment));
  value.sizes = {static_cast<std::int64_t>(value.bytes)};
  value.root = kept;
  plan.values.push_back(std::move(value));
  step.outputs.push_back(kept);
  step.kernel.shared_scratch = scratch.bytes();
  step.control = std::make_shared<const ControlPlan>(std::move(control));
  return kept;
}

// Adds the first loop's body, operands and carries to the second loop.
void replay(Plan& plan, const LoopPair& pair, const PlanStep& from, ValueId checkpoints) {
  const ControlPlan& loop = *from.control;
  PlanStep& step = plan.steps[pair.consumer];
  ControlPlan control = *step.control;
  Scratch scratch(step);
  control.segment = pair.segment;
  control.replayed = from.node;
  control.replayed_flops = from.flops;

  BodyPlan replayed_body = loop.bodies[0];
  const auto shift = static_cast<int>(step.inputs.size());
  replayed_body.first_operand += shift;
  for (int& operand : replayed_body.operands) operand += shift;
  replayed_body.arena = scratch.reserve(replayed_body.arena.bytes);
  for (ScratchRange& packed : replayed_body.packed) packed = scratch.reserve(packed.bytes);
  for (Index i = 0; i < from.inputs.size(); ++i) {  // carries come from checkpoints
    step.inputs.push_back(i < loop.carries.size() ? ValueId() : from.inputs[i]);
  }
  control.checkpoints = static_cast<int>(step.inputs.size());
  step.inputs.push_back(checkpoints);

  control.replayed_carries = loop.carries;
  for (CarryPlan& carry : control.replayed_carries) {
    const bool own =
        carry.storage == CarryStorage::in_place || carry.storage == CarryStorage::alternate;
    carry.first = scratch.reserve(own ? carry.bytes : 0);
    carry.second = scratch.reserve(carry.storage == CarryStorage::alternate ? carry.bytes : 0);
  }
  BodyPlan& body = control.bodies[0];
  body.input_rings.resize(body.operands.size());
  replayed_body.output_rings.resize(replayed_body.outputs.size());
  for (Index o = 0; o < replayed_body.outputs.size(); ++o) {
    Ring& ring = replayed_body.output_rings[o];
    if (!drops(pair, replayed_body.outputs[o])) {
      ring = transient_ring(scratch, loop, o);
      continue;
    }
    const ValueId value = from.outputs[static_cast<Index>(replayed_body.outputs[o])];
    control.replayed_bytes += plan.values[value].bytes;
    ring = scratch.ring(replayed_body.output_strides[o], static_cast<Index>(pair.segment));
    for (const InputId i : body.operands.ids()) {
      if (step.input(body.operands[i]) == value) body.input_rings[i] = ring;
    }
  }
  for (ValueId& id : step.inputs) {
    for (const int o : pair.dropped) {
      if (id.defined() && id == from.output(o)) id = ValueId();
    }
  }
  step.kernel.shared_scratch = scratch.bytes();
  step.kernel.slot_scratch = std::max(step.kernel.slot_scratch, from.kernel.slot_scratch);
  step.flops += from.flops;
  step.bytes += from.bytes;
  step.cost_ns += from.cost_ns;
  control.bodies.push_back(std::move(replayed_body));
  step.control = std::make_shared<const ControlPlan>(std::move(control));
}

}  // namespace

std::vector<LoopPair> loops_to_segment(const Plan& plan) { return PairFinder(plan).run(); }

void segment_loop(Plan& plan, const LoopPair& pair) {
  const PlanStep before = plan.steps[pair.loop];
  const ValueId checkpoints = keep_checkpoints(plan, pair);
  replay(plan, pair, before, checkpoints);
}

}  // namespace weft
