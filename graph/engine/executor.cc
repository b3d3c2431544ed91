#include "weft/graph/engine/executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/graph/engine/completions.h"
#include "weft/ops/make_kernel.h"

namespace weft {
namespace {

using Index = std::size_t;

}  // namespace

Executor::Executor(const ExecutorOptions& options)
    : options_(options),
      workers_({.threads = options.threads, .shuffle_seed = options.shuffle_seed}) {
  if (options.trace != nullptr) recorder_ = &options.trace->add_recorder(workers_.slots());
}

void Executor::Run::stop_if_cancelled() const {
  if (guard.writing() || !cancel || !cancel()) return;
  throw CancelledError(fmt::format("program '{}' was cancelled; nothing was written", program));
}

void Executor::run(const std::shared_ptr<const Plan>& plan, RunMemory memory,
                   const std::function<bool()>& cancel, Profile* profile, WriteGuard& guard,
                   const RunListeners& listeners) {
  tracing_ = recorder_ != nullptr && recorder_->begin_run();
  const double begin = tracing_ ? Trace::now() : 0;
  const TracedPlan* traced = tracing_ ? recorder_->describe(plan) : nullptr;
  allocate(*plan);
  if (frame_ == nullptr || frame_->shared_plan() != plan || frame_->arena() != arena_->data()) {
    frame_ = std::make_unique<Frame>(plan, arena_->data());
    if (options_.check_finite) frame_->check_finite(workers_);
  }
  Frame& frame = *frame_;
  frame.memory = std::move(memory);
  frame.resolve_pointers();
  if (options_.poison) {
    poison_outside(frame);
    poison(frame, arena_->bytes());
  }
  if (frame.finite) frame.finite->begin(*plan);
  Run run{plan->program->name, cancel, profile, guard, listeners};
  if (listeners.on_output) run.complete = completions(*plan);
  if (listeners.before_read) run.first_reads = first_reads(*plan);
  trace({.plan = traced, .name = "prepare", .begin = begin});
  run_waves(frame, run);
  const double copies = traced_until_;
  run.notify_reads(plan->waves.end_id());
  copy_outputs(frame);
  for (Index i = 0; listeners.on_output && i < plan->outputs.size(); ++i) {
    const PlanOutput& output = plan->outputs[i];
    if (plan->waves.empty() || (!output.direct && !output.streamed)) notify_complete(run, frame, i);
  }
  copy_updates(frame, run);
  guard.commit();
  trace({.plan = traced, .name = "outputs and updates", .begin = copies});
  if (traced != nullptr)
    recorder_->span(
        {.plan = traced, .begin = begin, .end = tracing_ ? traced_until_ : Trace::now()});
}

void Executor::trace(const TraceRecorder::Span& span) {
  if (!tracing_) return;
  traced_until_ = Trace::now();
  TraceRecorder::Span ended = span;
  ended.end = traced_until_;
  recorder_->span(ended);
  tracing_ = !recorder_->is_full();
}

void Executor::notify_complete(const Run& run, const Frame& frame, std::size_t i) const {
  const Plan& plan = frame.plan();
  const PlanOutput& output = plan.outputs[i];
  const PlanValue& value = plan.values[output.value];
  Tensor streamed;
  if (output.streamed) {
    const std::byte* data = frame.readable(plan.buffer_of(output.value));
    streamed = Tensor::borrow(value.dtype, value.sizes, const_cast<std::byte*>(data));
  }
  run.listeners.on_output(i, streamed);
}

IdVector<WaveId, std::vector<VariableId>> Executor::first_reads(const Plan& plan) {
  IdVector<VariableId, WaveId> first(plan.program->variables.size());
  const auto read = [&](ValueId value, WaveId wave) {
    if (!value.defined()) return;
    const VariableId v = plan.buffer_of(value).variable();
    if (v.defined() && (!first[v].defined() || wave < first[v])) first[v] = wave;
  };
  for (const WaveId w : plan.waves.ids()) {
    for (const auto* steps : {&plan.waves[w].checks, &plan.waves[w].steps}) {
      for (const StepId s : *steps) {
        for (const ValueId value : plan.steps[s].inputs) read(value, w);
      }
    }
  }
  for (const PlanOutput& output : plan.outputs) read(output.value, plan.waves.end_id());
  for (const PlanUpdate& update : plan.updates) read(update.value, plan.waves.end_id());
  IdVector<WaveId, std::vector<VariableId>> reads(plan.waves.size() + 1);
  for (const VariableId v : first.ids()) {
    if (first[v].defined()) reads[first[v]].push_back(v);
  }
  return reads;
}

void Executor::Run::notify_reads(WaveId wave) const {
  if (first_reads.empty()) return;
  for (const VariableId v : first_reads[wave]) listeners.before_read(v);
}

void Executor::run_waves(Frame& frame, const Run& run) {
  const TracedPlan* traced = tracing_ ? recorder_->describe(frame.shared_plan()) : nullptr;
  for (const WaveId w : frame.plan().waves.ids()) {
    traced_ = traced;
    const double begin = traced_until_;
    run_wave(frame, w, run);
    trace({.plan = traced, .wave = w, .begin = begin, .is_body = &frame != frame_.get()});
  }
}

void Executor::run_wave(Frame& frame, WaveId w, const Run& run) {
  const Plan& plan = frame.plan();
  const PlanWave& wave = plan.waves[w];
  run.stop_if_cancelled();
  if (&frame == frame_.get()) run.notify_reads(w);
  for (const StepId s : wave.checks) run_check(frame, s);
  if (w >= plan.first_write && !plan.loop_body) run.guard.begin();
  if (options_.poison) set_guards(frame, w);
  if (plan.steps[wave.steps.front()].control != nullptr) {
    // A loop or branch is the only step of its wave. The steps of its bodies are timed
    // individually.
    const StepId s = wave.steps.front();
    if (frame.finite) frame.finite->before(plan, s, frame.run(s));
    run_control(frame, s, run);
    if (frame.finite) frame.finite->after(plan, s, frame.run(s));
  } else if (run.profile == nullptr && !frame.finite) {
    run_steps(frame, wave.steps.data(), wave.steps.size());
  } else {
    for (const StepId& s : wave.steps) {
      if (frame.finite) frame.finite->before(plan, s, frame.run(s));
      const double begin = Profile::now();
      run_steps(frame, &s, 1);
      if (run.profile != nullptr) {
        run.profile->record(frame.shared_plan(), s, begin, Profile::now());
      }
      if (frame.finite) frame.finite->after(plan, s, frame.run(s));
    }
  }
  if (options_.poison) check_guards(frame, w);
  if (&frame == frame_.get() && !run.complete.empty()) {
    for (const std::size_t output : run.complete[w]) notify_complete(run, frame, output);
  }
  if (options_.poison) poison_dead(frame, w);
}

void Executor::allocate(const Plan& plan) {
  try {
    if (!arena_ || arena_->bytes() < plan.arena_bytes) {
      frame_.reset();  // the frame has pointers into the arena
      arena_.reset();  // free before allocating the new arena
      arena_ = Buffer::allocate(std::max<std::size_t>(plan.arena_bytes, 64));
    }
    // Workers do not share pages, and there is a page between their scratch. Otherwise, prefetches
    // beyond the end of one worker's scratch would slow down the writes of the next worker.
    constexpr std::size_t kPage = 4096;
    const std::size_t stride =
        plan.slot_scratch == 0 ? 0 : round_up(plan.slot_scratch, kPage) + kPage;
    if (!slots_ || slot_stride_ < stride) {
      slots_.reset();
      slots_ = Buffer::allocate(
          std::max<std::size_t>(stride * static_cast<std::size_t>(workers_.slots()), 64));
      slot_stride_ = stride;
    }
  } catch (const Error& e) {
    const std::string sizes = plan.bindings.str();
    e.rethrow_as(fmt::format("{} for the intermediate results of program '{}'{}", e.what(),
                             plan.program->name, sizes.empty() ? "" : " with " + sizes));
  }
}

void Executor::run_check(const Frame& frame, StepId s) {
  const Plan& plan = frame.plan();
  const PlanStep& step = plan.steps[s];
  dtypes_.clear();
  for (const ValueId id : step.inputs) {
    dtypes_.push_back(!id.defined() ? DType::f32 : plan.values[id].dtype);
  }
  try {
    check_data(step.kernel, dtypes_, frame.run(s).inputs);
  } catch (const Error& e) {
    step.node->graph().fail(e, *step.node);
  }
}

void Executor::run_chunk(const Frame& frame, const Part& part, std::int64_t chunk, int slot) {
  KernelRun run = frame.run(part.step);
  run.slot_scratch = slots_->data() + slot_stride_ * static_cast<std::size_t>(slot);
  const Node* node = frame.plan().steps[part.step].node;
  const double begin = tracing_ ? Trace::now() : 0;
  try {
    part.phase->body(run, chunk);
  } catch (const Error& e) {
    if (node == nullptr) throw;
    node->graph().fail(e, *node);
  }
  if (tracing_) recorder_->chunk(traced_, part.step, slot, begin, Trace::now());
}

void Executor::run_exchange(const Frame& frame, StepId s) {
  const PlanStep& step = frame.plan().steps[s];
  const double begin = tracing_ ? Trace::now() : 0;
  try {
    step.kernel.exchange(frame.run(s), options_.world, workers_);
  } catch (const WorldError&) {
    throw;  // another rank caused it
  } catch (const Error& e) {
    step.node->graph().fail(e, *step.node);
  }
  if (tracing_) recorder_->chunk(traced_, s, 0, begin, Trace::now());
}

void Executor::run_steps(const Frame& frame, const StepId* steps, std::size_t count) {
  const Plan& plan = frame.plan();
  if (plan.steps[steps[0]].kernel.exchange) return run_exchange(frame, steps[0]);
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
      if (parts_.size() == 1) return run_chunk(frame, parts_[0], chunk, slot);
      const auto after =
          std::upper_bound(parts_.begin(), parts_.end(), chunk,
                           [](std::int64_t c, const Part& part) { return c < part.first_chunk; });
      const Part& part = *std::prev(after);
      run_chunk(frame, part, chunk - part.first_chunk, slot);
    };
    if (tracing_) recorder_->next_phase();
    workers_.for_chunks(chunks, body, cost);
  }
}

void Executor::copy_outputs(const Frame& frame) {
  const Plan& plan = frame.plan();
  for (Index i = 0; i < plan.outputs.size(); ++i) {
    const PlanOutput& o = plan.outputs[i];
    if (o.direct || o.streamed) continue;
    copy(frame.memory.outputs[i], frame.readable(plan.buffer_of(o.value)),
         plan.values[o.value].bytes);
  }
}

void Executor::copy_updates(const Frame& frame, const Run& run) {
  const Plan& plan = frame.plan();
  for (const PlanUpdate& u : plan.updates) {
    if (u.direct || u.successor || u.output >= 0) continue;
    if (!plan.loop_body) {
      run.stop_if_cancelled();
      run.guard.begin();
    }
    copy(frame.memory.updated[u.variable], frame.readable(plan.buffer_of(u.value)),
         plan.values[u.value].bytes);
  }
}

}  // namespace weft
