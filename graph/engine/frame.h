// Frame: the state of a running plan, including the pointers of all its steps. For each body of a
// loop or branch, the enclosing frame contains another frame.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/graph/engine/finite_check.h"
#include "weft/graph/plan/plan.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Memory of one run that is outside the arena.
struct RunMemory {
  IdVector<InputId, const std::byte*> feeds;  // null if not fed
  IdVector<VariableId, const std::byte*> variables;
  IdVector<VariableId, std::byte*> updated;     // same as `variables`; null without an update
  IdVector<VariableId, std::byte*> successors;  // bodies of loops: Space::successor
  std::vector<std::byte*> outputs;              // indexed by output
  std::vector<char> output_guarded;             // indexed by output: true if surrounded by guards
  IdVector<StepId, const std::byte*> packed;    // empty if no step has packed weights
};

class Frame {
 public:
  /// Creates a frame for `plan` in `arena`. `arena` must be non-null even for an empty plan,
  /// because kernels may form pointers into zero-sized operands. Pointers to memory outside the
  /// arena are set by resolve_pointers().
  Frame(std::shared_ptr<const Plan> plan, std::byte* arena);

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  std::byte* arena() const { return arena_; }
  const KernelRun& run(StepId s) const { return runs_[s]; }
  /// Returns the frame of body `i` of the loop or branch `s`.
  Frame& body(StepId s, std::size_t i) const { return *bodies_[s][i]; }

  /// Enables the check for non-finite values, also in the bodies of loops and branches.
  void check_finite(Workers& workers, bool outermost = true);
  /// Sets the pointers of all steps to the current addresses in `memory`.
  void resolve_pointers();
  /// As above, but only for operands whose address changes with each step of a loop.
  void resolve_per_step_pointers();
  /// Selects the memory whose address changes with each step of a loop. By default there is no such
  /// memory.
  struct PerStepMemory {
    IdVector<InputId, char> feeds;
    IdVector<VariableId, char> variables;
    bool outputs = false;
  };
  void set_per_step_memory(const PerStepMemory& per_step);

  const std::byte* readable(const PlanBuffer& buffer) const;
  /// Returns null for memory that a run only reads: feeds, constants, variables without an update.
  std::byte* writable(const PlanBuffer& buffer) const;

  RunMemory memory;
  std::optional<FiniteCheck> finite;                     // SessionOptions::check_finite
  IdVector<WaveId, std::vector<BufferId>> begins, ends;  // poison mode: arena buffers by wave

 private:
  struct Operand {
    const PlanBuffer* buffer;
    std::size_t slot;  // index into inputs_ or outputs_
  };
  struct Operands {
    std::vector<Operand> inputs, outputs;
  };
  void resolve_pointers(const Operands& operands);

  std::shared_ptr<const Plan> plan_;
  std::byte* arena_;
  // Pointers of all steps, concatenated; each KernelRun refers to the pointers of its step.
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  IdVector<StepId, KernelRun> runs_;
  Operands outside_;   // operands outside the arena
  Operands per_step_;  // the subset selected by set_per_step_memory()
  IdVector<StepId, std::vector<std::unique_ptr<Frame>>> bodies_;
};

}  // namespace weft
