// Running a plan: waves of chunks on one set of workers, in one arena.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/finite_check.h"
#include "weft/graph/run/profile.h"
#include "weft/graph/run/write_guard.h"

namespace weft {

/// Bytes on both sides of a buffer that are watched in poison mode.
inline constexpr std::size_t kGuardBytes = 64;

/// Memory of one run that is not in the arena.
struct RunMemory {
  IdVector<InputId, const std::byte*> feeds;  // null where not fed
  IdVector<VariableId, const std::byte*> variables;
  IdVector<VariableId, std::byte*> updated;   // the same memory; null where there is no update
  std::vector<std::byte*> outputs;            // by output
  std::vector<char> output_guarded;           // by output: has kGuardBytes of ours on both sides
  IdVector<StepId, const std::byte*> packed;  // where any has packed weights; else empty
};

struct ExecutorOptions {
  int threads = 0;
  std::uint64_t shuffle_seed = 0;
  bool poison = false;
  bool check_finite = false;
};

class Executor {
 public:
  explicit Executor(const ExecutorOptions& options);

  Workers& workers() { return workers_; }
  std::size_t arena_bytes() const { return arena_ ? arena_->bytes() : 0; }

  /// Runs `plan`. `guard` begins just before the first byte of a variable is written, and commits
  /// when all are. `profile` may be null. Errors of kernels name op, operands and the user's line.
  void run(const std::shared_ptr<const Plan>& plan, const RunMemory& memory,
           const std::function<bool()>& cancel, Profile* profile, WriteGuard& guard);

 private:
  struct Part {  // the chunks of one step in a phase of a wave
    StepId step;
    std::int64_t first_chunk;
    const Phase* phase;
  };

  void allocate(const Plan& plan);
  void prepare(const Plan& plan, const RunMemory& memory);
  const std::byte* readable(const Plan& plan, const RunMemory& memory,
                            const PlanBuffer& buffer) const;
  /// Null where a run only reads: feeds, constants, variables without an update.
  std::byte* writable(const RunMemory& memory, const PlanBuffer& buffer) const;
  void run_check(const Plan& plan, StepId step);
  void run_steps(const Plan& plan, const StepId* steps, std::size_t count);
  void run_chunk(const Plan& plan, const Part& part, std::int64_t chunk, int slot);
  void finish(const Plan& plan, const RunMemory& memory, const std::function<bool()>& cancel,
              WriteGuard& guard);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

  // Poison mode.
  void poison_all(const Plan& plan, const RunMemory& memory);
  void set_guards(const Plan& plan, WaveId wave);
  void check_guards(const Plan& plan, const RunMemory& memory, WaveId wave);
  void poison_dead(const Plan& plan, WaveId wave);

  const ExecutorOptions options_;
  Workers workers_;
  std::optional<FiniteCheck> finite_;
  std::shared_ptr<Buffer> arena_;
  std::shared_ptr<Buffer> slots_;  // scratch of the workers
  std::size_t slot_stride_ = 0;
  // Of the current run: pointers of all steps, one after the other, and where those of a step
  // begin.
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  IdVector<StepId, KernelRun> runs_;
  std::vector<Part> parts_;
  std::vector<DType> dtypes_;                              // of the operands that a check reads
  IdVector<WaveId, std::vector<BufferId>> begins_, ends_;  // poison mode: arena buffers
};

}  // namespace weft
