#include "weft/graph/run/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/error.h"
#include "weft/ops/make_kernel.h"

namespace weft {
namespace {

using Index = std::size_t;
constexpr std::size_t kCopyChunk = 1 << 20;

}  // namespace

Executor::Executor(const ExecutorOptions& options)
    : options_(options),
      workers_({.threads = options.threads, .shuffle_seed = options.shuffle_seed}) {
  if (options.check_finite) finite_.emplace(workers_);
}

void Executor::run(const std::shared_ptr<const Plan>& shared_plan, const RunMemory& memory,
                   const std::function<bool()>& cancel, Profile* profile, WriteGuard& guard) {
  const Plan& plan = *shared_plan;
  prepare(plan, memory);
  if (options_.poison) poison_all(plan, memory);
  if (finite_) finite_->begin(plan);
  for (const WaveId w : plan.waves.ids()) {
    const PlanWave& wave = plan.waves[w];
    if (!guard.writing() && cancel && cancel()) {
      throw CancelledError(
          fmt::format("program '{}' was cancelled; nothing was written", plan.program->name));
    }
    for (const StepId s : wave.checks) run_check(plan, s);
    if (w >= plan.first_write) guard.begin();
    if (options_.poison) set_guards(plan, w);
    if (profile == nullptr && !finite_) {
      run_steps(plan, wave.steps.data(), wave.steps.size());
    } else {
      for (const StepId& s : wave.steps) {
        if (finite_) finite_->before(plan, s, runs_[s]);
        const auto begin = Profile::Clock::now();
        run_steps(plan, &s, 1);
        if (profile != nullptr) profile->record(shared_plan, s, begin, Profile::Clock::now());
        if (finite_) finite_->after(plan, s, runs_[s]);
      }
    }
    if (options_.poison) {
      check_guards(plan, memory, w);
      poison_dead(plan, w);
    }
  }
  finish(plan, memory, cancel, guard);
  guard.commit();
}

std::byte* Executor::writable(const RunMemory& memory, const PlanBuffer& buffer) const {
  switch (buffer.space) {
    case Space::arena: return arena_->data() + buffer.offset;
    case Space::output: return memory.outputs[static_cast<Index>(buffer.index)];
    case Space::variable: return memory.updated[buffer.variable()];
    case Space::feed:
    case Space::constant: break;
  }
  return nullptr;
}

const std::byte* Executor::readable(const Plan& plan, const RunMemory& memory,
                                    const PlanBuffer& buffer) const {
  switch (buffer.space) {
    case Space::feed: return memory.feeds[InputId(buffer.index)];
    case Space::constant: return plan.program->constants[static_cast<Index>(buffer.index)].raw();
    case Space::variable: return memory.variables[buffer.variable()];
    case Space::arena:
    case Space::output: break;
  }
  return writable(memory, buffer);
}

void Executor::allocate(const Plan& plan) {
  try {
    if (!arena_ || arena_->bytes() < plan.arena_bytes) {
      arena_.reset();  // free before allocating, so that both need not fit at once
      arena_ = Buffer::allocate(std::max<std::size_t>(plan.arena_bytes, 64));
    }
    if (!slots_ || slot_stride_ < plan.slot_scratch) {
      slots_.reset();
      slots_ = Buffer::allocate(std::max<std::size_t>(
          plan.slot_scratch * static_cast<std::size_t>(workers_.slots()), 64));
      slot_stride_ = plan.slot_scratch;
    }
  } catch (const Error& e) {
    const std::string sizes = plan.bindings.str();
    e.rethrow_as(fmt::format("{} for the intermediate results of program '{}'{}", e.what(),
                             plan.program->name, sizes.empty() ? "" : " with " + sizes));
  }
}

void Executor::prepare(const Plan& plan, const RunMemory& memory) {
  allocate(plan);
  inputs_.clear();
  outputs_.clear();
  runs_.resize(plan.steps.size());
  for (const PlanStep& step : plan.steps) {
    for (const ValueId id : step.inputs) {
      inputs_.push_back(id.defined() ? readable(plan, memory, plan.buffer_of(id)) : nullptr);
    }
    for (const ValueId id : step.outputs) {
      outputs_.push_back(id.defined() ? writable(memory, plan.buffer_of(id)) : nullptr);
    }
  }
  const void* const* in = inputs_.data();
  void* const* out = outputs_.data();
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    runs_[s] = {in, out,
                step.scratch.defined() ? writable(memory, plan.buffers[step.scratch]) : nullptr,
                nullptr, memory.packed.empty() ? nullptr : memory.packed[s]};
    in += step.inputs.size();
    out += step.outputs.size();
  }
}

void Executor::run_check(const Plan& plan, StepId s) {
  const PlanStep& step = plan.steps[s];
  dtypes_.clear();
  for (const ValueId id : step.inputs) {
    dtypes_.push_back(!id.defined() ? DType::f32 : plan.values[id].dtype);
  }
  try {
    check_data(step.kernel, dtypes_, runs_[s].inputs);
  } catch (const Error& e) {
    step.node->graph().fail(e, *step.node);
  }
}

void Executor::run_chunk(const Plan& plan, const Part& part, std::int64_t chunk, int slot) {
  KernelRun run = runs_[part.step];
  run.slot_scratch = slots_->data() + slot_stride_ * static_cast<std::size_t>(slot);
  const Node* node = plan.steps[part.step].node;
  try {
    part.phase->body(run, chunk);
  } catch (const Error& e) {
    if (node == nullptr) throw;
    node->graph().fail(e, *node);
  }
}

void Executor::run_steps(const Plan& plan, const StepId* steps, std::size_t count) {
  Index phases = 0;
  for (Index i = 0; i < count; ++i) {
    phases = std::max(phases, plan.steps[steps[i]].kernel.phases.size());
  }
  for (Index p = 0; p < phases; ++p) {
    parts_.clear();
    std::int64_t chunks = 0;
    double cost = 0;
    for (Index i = 0; i < count; ++i) {
      const PlanStep& step = plan.steps[steps[i]];
      if (p >= step.kernel.phases.size()) continue;
      const Phase& phase = step.kernel.phases[p];
      if (phase.chunks <= 0) continue;
      parts_.push_back({steps[i], chunks, &phase});
      chunks += phase.chunks;
      const auto shares = static_cast<double>(step.kernel.phases.size());
      cost += phase.cost_ns > 0 ? phase.cost_ns : step.cost_ns / shares;
    }
    const auto body = [&](std::int64_t chunk, int slot) {
      if (parts_.size() == 1) return run_chunk(plan, parts_[0], chunk, slot);
      const auto after =
          std::upper_bound(parts_.begin(), parts_.end(), chunk,
                           [](std::int64_t c, const Part& part) { return c < part.first_chunk; });
      const Part& part = *std::prev(after);
      run_chunk(plan, part, chunk - part.first_chunk, slot);
    };
    workers_.for_chunks(chunks, body, cost);
  }
}

void Executor::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return;
  if (bytes <= kCopyChunk) {
    std::memcpy(to, from, bytes);
    return;
  }
  const auto chunks = static_cast<std::int64_t>((bytes + kCopyChunk - 1) / kCopyChunk);
  workers_.for_chunks(chunks, [&](std::int64_t chunk, int) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * kCopyChunk;
    std::memcpy(to + begin, from + begin, std::min(kCopyChunk, bytes - begin));
  });
}

void Executor::finish(const Plan& plan, const RunMemory& memory,
                      const std::function<bool()>& cancel, WriteGuard& guard) {
  for (Index i = 0; i < plan.outputs.size(); ++i) {
    const PlanOutput& o = plan.outputs[i];
    if (o.direct) continue;
    copy(memory.outputs[i], readable(plan, memory, plan.buffer_of(o.value)),
         plan.values[o.value].bytes);
  }
  for (const PlanUpdate& u : plan.updates) {
    if (u.direct) continue;
    if (!guard.writing() && cancel && cancel()) {
      throw CancelledError(
          fmt::format("program '{}' was cancelled; nothing was written", plan.program->name));
    }
    guard.begin();
    copy(memory.updated[u.variable], readable(plan, memory, plan.buffer_of(u.value)),
         plan.values[u.value].bytes);
  }
}

}  // namespace weft
