// Executor: runs a plan in waves of chunks, on one set of workers and in one arena.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"
#include "weft/graph/engine/frame.h"
#include "weft/graph/engine/parallel_copy.h"
#include "weft/graph/engine/profile.h"
#include "weft/graph/engine/trace_recorder.h"
#include "weft/graph/engine/write_guard.h"
#include "weft/graph/plan/plan.h"

namespace weft {

struct CarryState;  // executor_control.cc

/// Size in bytes of the guards on both sides of a buffer in poison mode.
inline constexpr std::size_t kGuardBytes = 64;

struct ExecutorOptions {
  int threads = 0;
  std::uint64_t shuffle_seed = 0;
  bool poison = false;
  bool check_finite = false;
  World world = {};
  Trace* trace = nullptr;
};

/// Callbacks during a run, called between waves on the thread that runs it.
struct RunListeners {
  /// Called when output number `output` is complete. If the output is streamed, `streamed` is its
  /// value, which is valid until the callback returns; otherwise `streamed` is undefined.
  std::function<void(std::size_t output, const Tensor& streamed)> on_output = {};
  /// Called before the first step that reads the variable.
  std::function<void(VariableId variable)> before_read = {};
};

class Executor {
 public:
  explicit Executor(const ExecutorOptions& options);

  Workers& workers() { return workers_; }
  std::size_t arena_bytes() const { return arena_ ? arena_->bytes() : 0; }

  /// Runs `plan`. `guard` begins just before the first byte of a variable is written and commits
  /// after all updates are written. `profile` may be null. Kernel errors name the op, the operands
  /// and the user's source line.
  void run(const std::shared_ptr<const Plan>& plan, RunMemory memory,
           const std::function<bool()>& cancel, Profile* profile, WriteGuard& guard,
           const RunListeners& listeners = {});

 private:
  struct Part {  // the chunks of one step in a phase of a wave
    StepId step;
    std::int64_t first_chunk;
    const Phase* phase;
  };

  // State shared by all frames of a run.
  struct Run {
    const std::string& program;
    const std::function<bool()>& cancel;
    Profile* profile;
    WriteGuard& guard;
    const RunListeners& listeners;
    // For each wave, the outputs that are complete after it.
    IdVector<WaveId, std::vector<std::size_t>> complete = {};
    // For each wave, the variables that it is the first to read. The last entry lists variables
    // that no wave reads and that are only copied at the end.
    IdVector<WaveId, std::vector<VariableId>> first_reads = {};
    void stop_if_cancelled() const;
    void notify_reads(WaveId wave) const;
  };

  void allocate(const Plan& plan);
  void notify_complete(const Run& run, const Frame& frame, std::size_t output) const;
  static IdVector<WaveId, std::vector<VariableId>> first_reads(const Plan& plan);
  void run_waves(Frame& frame, const Run& run);
  void run_wave(Frame& frame, WaveId wave, const Run& run);
  /// Adds a slice that ends now to the timeline.
  void trace(const TraceRecorder::Span& span);
  void run_check(const Frame& frame, StepId step);
  void run_steps(const Frame& frame, const StepId* steps, std::size_t count);
  /// Runs a collective step, which all ranks execute together.
  void run_exchange(const Frame& frame, StepId step);
  void run_chunk(const Frame& frame, const Part& part, std::int64_t chunk, int slot);
  /// Copies the outputs or updates that were not made in place.
  void copy_outputs(const Frame& frame);
  void copy_updates(const Frame& frame, const Run& run);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    parallel_copy(to, from, bytes, workers_);
  }

  // Loops and branches.
  void run_control(Frame& frame, StepId step, const Run& run);
  void run_branch(Frame& frame, StepId step, const Run& run);
  struct Loop;
  void run_scan(Frame& frame, StepId step, const Run& run);
  /// Runs steps [begin, end) of a scan.
  void run_scan_steps(Loop& loop, std::int64_t begin, std::int64_t end, const Run& run);
  void run_keeping_checkpoints(Loop& loop, const ControlPlan& control, const Run& run);
  /// Runs a gradient loop, which needs the intermediate values of another loop, in segments:
  /// replays the iterations of the other loop from a checkpoint, then runs the loop's own
  /// iterations over their results.
  void run_replaying(Loop& loop, Loop& replayed_loop, const ControlPlan& control, const Run& run);
  void start(std::vector<CarryState>& carries);
  void finish(const std::vector<CarryState>& carries, const KernelRun& operands);
  void run_while(Frame& frame, StepId step, const Run& run);
  void run_body(Frame& body, const Run& run);
  /// Prepares the frame of a body for a loop or branch: sets the current addresses of its operands.
  void enter(Frame& frame, StepId step, std::size_t body);

  // Poison mode.
  void poison(Frame& frame, std::size_t bytes);
  void poison_outside(const Frame& frame);
  void set_guards(const Frame& frame, WaveId wave);
  void check_guards(const Frame& frame, WaveId wave);
  void poison_dead(const Frame& frame, WaveId wave);

  const ExecutorOptions options_;
  Workers workers_;
  std::shared_ptr<Buffer> arena_;
  std::shared_ptr<Buffer> slots_;  // scratch of the workers
  std::size_t slot_stride_ = 0;
  std::unique_ptr<Frame> frame_;  // frame of the plan that ran last
  std::vector<Part> parts_;
  // The timeline of this executor, if there is one, and the state of the current run in it.
  TraceRecorder* recorder_ = nullptr;
  bool tracing_ = false;
  const TracedPlan* traced_ = nullptr;  // the plan of the current frame
  double traced_until_ = 0;             // end of the last slice
  std::vector<DType> dtypes_;           // dtypes of the operands of a data check
};

}  // namespace weft
