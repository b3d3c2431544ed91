#include "weft/graph/engine/frame.h"

#include "weft/graph/plan/control_plan.h"

namespace weft {
namespace {

// Returns the arena as a placeholder address for zero-sized buffers, which are never allocated.
template <class Byte>
Byte* nonnull_placeholder(Byte* data, const PlanBuffer& buffer, std::byte* arena) {
  return data == nullptr && buffer.bytes == 0 ? arena : data;
}

}  // namespace

Frame::Frame(std::shared_ptr<const Plan> plan, std::byte* arena)
    : plan_(std::move(plan)), arena_(arena) {
  for (const PlanStep& step : plan_->steps) {
    const auto place = [&](ValueId id, std::size_t slot, std::vector<Operand>& outside) {
      if (!id.defined()) return static_cast<std::byte*>(nullptr);
      const PlanBuffer& buffer = plan_->buffer_of(id);
      if (buffer.space == Space::arena) return arena_ + buffer.offset;
      outside.push_back({&buffer, slot});
      return static_cast<std::byte*>(nullptr);
    };
    for (const ValueId id : step.inputs) {
      inputs_.push_back(place(id, inputs_.size(), outside_.inputs));
    }
    for (const ValueId id : step.outputs) {
      outputs_.push_back(place(id, outputs_.size(), outside_.outputs));
    }
  }
  runs_.resize(plan_->steps.size());
  const void* const* in = inputs_.data();
  void* const* out = outputs_.data();
  for (const StepId s : plan_->steps.ids()) {
    const PlanStep& step = plan_->steps[s];
    std::byte* scratch =
        arena_ + (step.scratch.defined() ? plan_->buffers[step.scratch].offset : 0);
    runs_[s] = {in, out, scratch, nullptr, nullptr};
    in += step.inputs.size();
    out += step.outputs.size();
    if (step.control == nullptr) continue;
    bodies_.resize(plan_->steps.size());
    for (const BodyPlan& body : step.control->bodies) {
      auto frame = std::make_unique<Frame>(body.plan, scratch + body.arena.offset);
      for (const StepId inner : body.plan->steps.ids()) {
        const ScratchRange& packed = body.packed[inner];
        if (packed.defined()) frame->runs_[inner].packed = scratch + packed.offset;
      }
      bodies_[s].push_back(std::move(frame));
    }
  }
}

void Frame::check_finite(Workers& workers, bool outermost) {
  finite.emplace(workers, outermost);
  for (const auto& of_step : bodies_) {
    for (const auto& body : of_step) body->check_finite(workers, false);
  }
}

std::byte* Frame::writable(const PlanBuffer& buffer) const {
  switch (buffer.space) {
    case Space::arena: return arena_ + buffer.offset;
    case Space::output: return memory.outputs[static_cast<std::size_t>(buffer.index)];
    case Space::variable: return memory.updated[buffer.variable()];
    case Space::successor: return memory.successors[VariableId(buffer.index)];
    case Space::feed:
    case Space::constant: break;
  }
  return nullptr;
}

const std::byte* Frame::readable(const PlanBuffer& buffer) const {
  switch (buffer.space) {
    case Space::feed: return memory.feeds[InputId(buffer.index)];
    case Space::constant:
      return plan_->program->constants[static_cast<std::size_t>(buffer.index)].raw();
    case Space::variable: return memory.variables[buffer.variable()];
    case Space::arena:
    case Space::output:
    case Space::successor: break;
  }
  return writable(buffer);
}

void Frame::resolve_pointers(const Operands& operands) {
  for (const Operand& o : operands.inputs)
    inputs_[o.slot] = nonnull_placeholder(readable(*o.buffer), *o.buffer, arena_);
  for (const Operand& o : operands.outputs)
    outputs_[o.slot] = nonnull_placeholder(writable(*o.buffer), *o.buffer, arena_);
}

void Frame::resolve_pointers() {
  resolve_pointers(outside_);
  if (memory.packed.empty()) return;
  for (const StepId s : plan_->steps.ids()) runs_[s].packed = memory.packed[s];
}

void Frame::resolve_per_step_pointers() { resolve_pointers(per_step_); }

void Frame::set_per_step_memory(const PerStepMemory& per_step) {
  const auto moves = [&](const PlanBuffer& b) {
    switch (b.space) {
      case Space::feed: return per_step.feeds[InputId(b.index)] != 0;
      case Space::variable: return per_step.variables[b.variable()] != 0;
      case Space::successor: return true;
      case Space::output: return per_step.outputs;
      case Space::arena:
      case Space::constant: break;
    }
    return false;
  };
  const auto choose = [&](const std::vector<Operand>& from, std::vector<Operand>& to) {
    to.clear();
    for (const Operand& o : from) {
      if (moves(*o.buffer)) to.push_back(o);
    }
  };
  choose(outside_.inputs, per_step_.inputs);
  choose(outside_.outputs, per_step_.outputs);
}

}  // namespace weft
