// Poison mode of the executor: dead memory is filled with NaN, and buffers are surrounded by
// guards.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/error.h"
#include "weft/graph/engine/executor.h"

namespace weft {
namespace {

using Index = std::size_t;
constexpr int kDead = 0xFF;  // NaN in every float format, -1 in integers
constexpr int kGuard = 0xA5;

bool intact(const std::byte* guard) {
  return std::all_of(guard, guard + kGuardBytes,
                     [](std::byte b) { return b == static_cast<std::byte>(kGuard); });
}

}  // namespace

void Executor::poison(Frame& frame, std::size_t bytes) {
  const Plan& plan = frame.plan();
  if (bytes > 0) std::memset(frame.arena(), kDead, bytes);
  frame.begins.assign(plan.waves.size() + 1, {});
  frame.ends.assign(plan.waves.size() + 1, {});
  for (const BufferId b : plan.buffers.ids()) {
    if (plan.buffers[b].space != Space::arena) continue;
    frame.begins[plan.buffers[b].begin].push_back(b);
    frame.ends[plan.buffers[b].end].push_back(b);
  }
}

void Executor::poison_outside(const Frame& frame) {
  std::memset(slots_->data(), kDead, slots_->bytes());
  const Plan& plan = frame.plan();
  const RunMemory& memory = frame.memory;
  for (Index i = 0; i < plan.outputs.size(); ++i) {
    if (plan.outputs[i].streamed) continue;
    const std::size_t bytes = plan.values[plan.outputs[i].value].bytes;
    if (bytes > 0) std::memset(memory.outputs[i], kDead, bytes);
    if (!memory.output_guarded[i]) continue;
    std::memset(memory.outputs[i] - kGuardBytes, kGuard, kGuardBytes);
    std::memset(memory.outputs[i] + bytes, kGuard, kGuardBytes);
  }
}

void Executor::set_guards(const Frame& frame, WaveId wave) {
  for (const BufferId i : frame.begins[wave]) {
    const PlanBuffer& b = frame.plan().buffers[i];
    std::memset(frame.arena() + b.offset - kGuardBytes, kGuard, kGuardBytes);
    std::memset(frame.arena() + b.offset + b.bytes, kGuard, kGuardBytes);
  }
}

void Executor::check_guards(const Frame& frame, WaveId wave) {
  const Plan& plan = frame.plan();
  const RunMemory& memory = frame.memory;
  for (const StepId s : plan.waves[wave].steps) {
    const PlanStep& step = plan.steps[s];
    const auto check = [&](const PlanBuffer& b, const std::string& what) {
      const std::byte* data = nullptr;
      if (b.space == Space::arena) data = frame.arena() + b.offset;
      if (b.space == Space::output && !memory.output_guarded.empty() &&
          memory.output_guarded[static_cast<Index>(b.index)]) {
        data = memory.outputs[static_cast<Index>(b.index)];
      }
      if (data == nullptr || (intact(data - kGuardBytes) && intact(data + b.bytes))) return;
      throw StateError(fmt::format(
          "{} or another step of its wave wrote outside its memory: the guard {} {} of {} bytes is "
          "broken{}",
          plan.step_name(s), intact(data - kGuardBytes) ? "after" : "before", what, b.bytes,
          step.node == nullptr ? "" : "\n  " + step.node->graph().where(*step.node)));
    };
    for (const ValueId id : step.outputs) {
      if (id.defined()) check(plan.buffer_of(id), "an output");
    }
    for (const ValueId id : step.inputs) {
      if (id.defined()) check(plan.buffer_of(id), "an input");
    }
    if (step.scratch.defined()) check(plan.buffers[step.scratch], "the scratch");
  }
}

void Executor::poison_dead(const Frame& frame, WaveId wave) {
  for (const BufferId i : frame.ends[wave]) {
    const PlanBuffer& b = frame.plan().buffers[i];
    std::memset(frame.arena() + b.offset - kGuardBytes, kDead, b.bytes + 2 * kGuardBytes);
  }
}

}  // namespace weft
