// Loops and branches. The plan of a body runs in a separate frame and in memory owned by the
// enclosing step. It reads operands and writes results at the addresses of the enclosing step.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/engine/executor.h"
#include "weft/graph/plan/control_plan.h"

namespace weft {

// The current address of a carry, and the buffers for its next values.
struct CarryState {
  const CarryPlan* plan;
  const std::byte* current;
  std::byte* first;
  std::byte* second;
};

namespace {

using Index = std::size_t;

const std::byte* input_of(const KernelRun& run, int i) {
  return static_cast<const std::byte*>(run.inputs[i]);
}
std::byte* output_of(const KernelRun& run, int i) {
  return static_cast<std::byte*>(run.outputs[i]);
}

std::vector<CarryState> carries_of(const std::vector<CarryPlan>& plans, const KernelRun& run) {
  std::vector<CarryState> states;
  for (Index i = 0; i < plans.size(); ++i) {
    const CarryPlan& carry = plans[i];
    std::byte* first = carry.first.defined() ? run.shared_scratch + carry.first.offset
                                             : output_of(run, static_cast<int>(i));
    std::byte* second = carry.second.defined() ? run.shared_scratch + carry.second.offset : nullptr;
    states.push_back({&carry, input_of(run, static_cast<int>(i)), first, second});
  }
  return states;
}

// Returns the carries of a loop that another loop replays. The operands and outputs of the running
// step are not those of the replayed loop, and the carries start from checkpoints.
std::vector<CarryState> replayed_carries(const std::vector<CarryPlan>& plans,
                                         const KernelRun& run) {
  const auto place = [&](const ScratchRange& range) {
    return range.defined() ? run.shared_scratch + range.offset : nullptr;
  };
  std::vector<CarryState> states;
  for (const CarryPlan& carry : plans) {
    states.push_back({&carry, nullptr, place(carry.first), place(carry.second)});
  }
  return states;
}

void set_carry(RunMemory& memory, const CarryState& carry, std::byte* next) {
  const VariableId v = carry.plan->variable;
  if (!v.defined()) return;
  memory.variables[v] = carry.current;
  const bool in_place = carry.plan->storage == CarryStorage::in_place;
  memory.updated[v] = in_place ? carry.first : nullptr;
  memory.successors[v] = next;
}

}  // namespace

// The state of a running scan.
struct Executor::Loop {
  const Node& node;
  const KernelRun& operands;
  const BodyPlan& plan;
  Frame& body;
  std::vector<CarryState> carries;
  std::int64_t length;
  bool reverse;
  bool entered = false;

  std::size_t index(std::int64_t step) const {
    return static_cast<std::size_t>(reverse ? length - 1 - step : step);
  }
  // Sets the addresses that the body reads and writes in step `step`, except for carries.
  void move_to(std::int64_t step) {
    RunMemory& memory = body.memory;
    for (const InputId i : plan.strides.ids()) {
      if (plan.strides[i] == 0) continue;
      const bool ring = !plan.input_rings.empty() && plan.input_rings[i].defined();
      memory.feeds[i] = ring ? operands.shared_scratch + plan.input_rings[i].place(index(step))
                             : input_of(operands, plan.operands[i]) + index(step) * plan.strides[i];
    }
    for (Index o = 0; o < plan.outputs.size(); ++o) {
      const bool ring = !plan.output_rings.empty() && plan.output_rings[o].defined();
      memory.outputs[o] =
          ring ? operands.shared_scratch + plan.output_rings[o].place(index(step))
               : output_of(operands, plan.outputs[o]) + index(step) * plan.output_strides[o];
    }
  }
};

void Executor::enter(Frame& frame, StepId s, std::size_t number) {
  const ControlPlan& control = *frame.plan().steps[s].control;
  const BodyPlan& body = control.bodies[number];
  const KernelRun& run = frame.run(s);
  Frame& inside = frame.body(s, number);
  const CompiledProgram& program = *body.plan->program;
  RunMemory& memory = inside.memory;
  if (memory.feeds.size() != program.inputs.size() ||
      memory.variables.size() != program.variables.size()) {
    memory.feeds.resize(program.inputs.size());
    memory.variables.resize(program.variables.size());
    memory.updated.resize(program.variables.size());
    memory.successors.resize(program.variables.size());
  }
  memory.outputs.resize(body.outputs.size());
  Frame::PerStepMemory per_step;
  per_step.feeds.resize(program.inputs.size());
  per_step.variables.resize(program.variables.size());
  for (const InputId i : program.inputs.ids()) {
    memory.feeds[i] = input_of(run, body.operands[i]);
    // The condition of a while loop reads carries as inputs.
    const bool carry = control.op == ControlOp::while_loop &&
                       body.operands[i] < static_cast<int>(control.carries.size());
    per_step.feeds[i] = body.strides[i] > 0 || carry;
  }
  const bool replayed = control.replayed != nullptr && number == 1;
  for (const CarryPlan& carry : replayed ? control.replayed_carries : control.carries) {
    if (!carry.variable.defined() || !program.variables.contains(carry.variable)) continue;
    per_step.variables[carry.variable] =
        carry.storage == CarryStorage::alternate || carry.storage == CarryStorage::output;
  }
  for (Index o = 0; o < body.outputs.size(); ++o) {
    memory.outputs[o] = replayed ? nullptr : output_of(run, body.outputs[o]);
    per_step.outputs = per_step.outputs || body.output_strides[o] > 0;
  }
  inside.set_per_step_memory(per_step);
  for (const StepId inner : body.plan->steps.ids()) {
    if (!body.packed[inner].defined()) continue;
    const PlanStep& step = body.plan->steps[inner];
    const PackedInput& wanted = *step.kernel.packed;
    std::byte* to = run.shared_scratch + body.packed[inner].offset;
    const std::byte* from = memory.feeds[step.packed_input];
    workers_.for_chunks(wanted.chunks,
                        [&](std::int64_t chunk, int) { wanted.pack(from, to, chunk); });
  }
  if (options_.poison) poison(inside, body.plan->arena_bytes);
}

void Executor::run_body(Frame& body, const Run& run) {
  if (body.finite) body.finite->begin(body.plan());
  run_waves(body, run);
  copy_outputs(body);
  copy_updates(body, run);
}

void Executor::run_control(Frame& frame, StepId s, const Run& run) {
  switch (frame.plan().steps[s].control->op) {
    case ControlOp::scan: return run_scan(frame, s, run);
    case ControlOp::cond: return run_branch(frame, s, run);
    case ControlOp::while_loop: return run_while(frame, s, run);
  }
}

void Executor::run_branch(Frame& frame, StepId s, const Run& run) {
  const bool taken = *input_of(frame.run(s), 0) != std::byte{0};
  const std::size_t branch = taken ? 0 : 1;
  enter(frame, s, branch);
  frame.body(s, branch).resolve_pointers();
  run_body(frame.body(s, branch), run);
}

void Executor::start(std::vector<CarryState>& carries) {
  for (CarryState& carry : carries) {
    if (carry.plan->storage != CarryStorage::in_place) continue;
    copy(carry.first, carry.current, carry.plan->bytes);
    carry.current = carry.first;
  }
}

void Executor::finish(const std::vector<CarryState>& carries, const KernelRun& operands) {
  for (Index i = 0; i < carries.size(); ++i) {
    std::byte* last = output_of(operands, static_cast<int>(i));
    if (last != nullptr) copy(last, carries[i].current, carries[i].plan->bytes);
  }
}

void Executor::run_scan_steps(Loop& loop, std::int64_t begin, std::int64_t end, const Run& run) {
  RunMemory& memory = loop.body.memory;
  std::int64_t step = begin;
  try {
    for (; step < end; ++step) {
      loop.move_to(step);
      // The buffers alternate such that the last step writes to the first buffer, which may be the
      // memory of the result.
      const bool to_first = (loop.length - 1 - step) % 2 == 0;
      for (const CarryState& carry : loop.carries) {
        set_carry(memory, carry, to_first ? carry.first : carry.second);
      }
      loop.entered ? loop.body.resolve_per_step_pointers() : loop.body.resolve_pointers();
      loop.entered = true;
      run_body(loop.body, run);
      for (CarryState& carry : loop.carries) {
        if (carry.plan->storage == CarryStorage::alternate) {
          carry.current = to_first ? carry.first : carry.second;
        } else if (carry.plan->storage == CarryStorage::output) {
          carry.current = memory.outputs[static_cast<Index>(carry.plan->output)];
        }
      }
    }
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& e) {
    e.rethrow_as(fmt::format("{}\n  in step {} of {} of the loop at {}", e.what(), step,
                             loop.length, loop.node.graph().where(loop.node)));
  }
}

void Executor::run_scan(Frame& frame, StepId s, const Run& run) {
  const PlanStep& step = frame.plan().steps[s];
  const ControlPlan& control = *step.control;
  const KernelRun& operands = frame.run(s);
  Loop loop{*step.node,
            operands,
            control.bodies[0],
            frame.body(s, 0),
            carries_of(control.carries, operands),
            control.length,
            control.reverse};
  start(loop.carries);
  if (control.length > 0) enter(frame, s, 0);
  if (control.segment == 0) {
    run_scan_steps(loop, 0, control.length, run);
  } else if (control.replayed == nullptr) {
    run_keeping_checkpoints(loop, control, run);
  } else {
    enter(frame, s, 1);
    Loop replayed_loop{*control.replayed,
                       operands,
                       control.bodies[1],
                       frame.body(s, 1),
                       replayed_carries(control.replayed_carries, operands),
                       control.length,
                       !control.reverse};
    run_replaying(loop, replayed_loop, control, run);
  }
  finish(loop.carries, operands);
}

void Executor::run_keeping_checkpoints(Loop& loop, const ControlPlan& control, const Run& run) {
  std::vector<std::size_t> at;
  const std::size_t bytes = checkpoint_bytes(control.carries, &at);
  std::byte* to = output_of(loop.operands, control.checkpoints);
  for (std::int64_t begin = 0; begin < control.length; begin += control.segment, to += bytes) {
    for (Index i = 0; i < loop.carries.size(); ++i) {
      const CarryState& carry = loop.carries[i];
      if (carry.plan->variable.defined()) copy(to + at[i], carry.current, carry.plan->bytes);
    }
    run_scan_steps(loop, begin, std::min(begin + control.segment, control.length), run);
  }
}

void Executor::run_replaying(Loop& loop, Loop& replayed_loop, const ControlPlan& control,
                             const Run& run) {
  std::vector<std::size_t> at;
  const std::size_t bytes = checkpoint_bytes(control.replayed_carries, &at);
  const std::byte* from = input_of(loop.operands, control.checkpoints);
  const std::int64_t length = control.length, segment = control.segment;
  for (std::int64_t k = (length - 1) / segment; k >= 0; --k) {
    const std::int64_t begin = k * segment, end = std::min(begin + segment, length);
    for (Index i = 0; i < replayed_loop.carries.size(); ++i) {
      CarryState& carry = replayed_loop.carries[i];
      if (carry.plan->variable.defined())
        carry.current = from + static_cast<std::size_t>(k) * bytes + at[i];
    }
    start(replayed_loop.carries);
    run_scan_steps(replayed_loop, begin, end, run);
    // The loop runs in the opposite direction, so it processes these elements in steps [length -
    // end, length - begin).
    run_scan_steps(loop, length - end, length - begin, run);
  }
}

void Executor::run_while(Frame& frame, StepId s, const Run& run) {
  const ControlPlan& control = *frame.plan().steps[s].control;
  const KernelRun& operands = frame.run(s);
  Frame &condition = frame.body(s, 0), &body = frame.body(s, 1);
  std::vector<CarryState> carries = carries_of(control.carries, operands);
  start(carries);
  enter(frame, s, 0);
  enter(frame, s, 1);
  std::byte flag{0};
  condition.memory.outputs[0] = &flag;
  for (std::int64_t step = 0; step < control.length; ++step) {
    const BodyPlan& condition_plan = control.bodies[0];
    for (const InputId i : condition_plan.operands.ids()) {
      const auto operand = static_cast<Index>(condition_plan.operands[i]);
      if (operand < carries.size()) condition.memory.feeds[i] = carries[operand].current;
    }
    condition.resolve_pointers();
    run_body(condition, run);
    if (flag == std::byte{0}) break;
    for (const CarryState& carry : carries) {
      set_carry(body.memory, carry, carry.current == carry.first ? carry.second : carry.first);
    }
    body.resolve_pointers();
    run_body(body, run);
    for (CarryState& carry : carries) {
      if (carry.plan->storage != CarryStorage::alternate) continue;
      carry.current = carry.current == carry.first ? carry.second : carry.first;
    }
  }
  finish(carries, operands);
}

}  // namespace weft
