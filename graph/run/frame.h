// Frames: one plan on its way through a run, with the pointers of all its steps. A loop or branch
// has a frame for each body inside the frame that runs it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/graph/plan/plan.h"
#include "weft/graph/run/finite_check.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Memory of one run that is not in the arena.
struct RunMemory {
  IdVector<InputId, const std::byte*> feeds;  // null where not fed
  IdVector<VariableId, const std::byte*> variables;
  IdVector<VariableId, std::byte*> updated;     // the same memory; null where there is no update
  IdVector<VariableId, std::byte*> successors;  // bodies of loops: Space::successor
  std::vector<std::byte*> outputs;              // by output
  std::vector<char> output_guarded;             // by output: has kGuardBytes of ours on both sides
  IdVector<StepId, const std::byte*> packed;    // where any has packed weights; else empty
};

class Frame {
 public:
  /// A frame for `plan` in `arena`, which is not null where no byte of it is used, either: kernels
  /// may add to the addresses of operands without elements. Pointers to memory outside of the arena
  /// come with point().
  Frame(std::shared_ptr<const Plan> plan, std::byte* arena);

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  std::byte* arena() const { return arena_; }
  const KernelRun& run(StepId s) const { return runs_[s]; }
  /// The frame of a body of a loop or branch.
  Frame& body(StepId s, std::size_t i) const { return *bodies_[s][i]; }

  /// Looks for values that are not finite, in bodies too.
  void check_finite(Workers& workers, bool outermost = true);
  /// Sets the pointers of all steps to what is in `memory` now.
  void point();
  /// The same for operands whose memory moves from step to step of a loop.
  void point_moving();
  /// Says which memory moves; nothing does before.
  struct Moving {
    IdVector<InputId, char> feeds;
    IdVector<VariableId, char> variables;
    bool outputs = false;
  };
  void set_moving(const Moving& moving);

  const std::byte* readable(const PlanBuffer& buffer) const;
  /// Null where a run only reads: feeds, constants, variables without an update.
  std::byte* writable(const PlanBuffer& buffer) const;

  RunMemory memory;
  std::optional<FiniteCheck> finite;                     // SessionOptions::check_finite
  IdVector<WaveId, std::vector<BufferId>> begins, ends;  // poison mode: arena buffers

 private:
  struct Operand {
    const PlanBuffer* buffer;
    std::size_t slot;  // into inputs_ or outputs_
  };
  struct Operands {
    std::vector<Operand> inputs, outputs;
  };
  void point(const Operands& operands);

  std::shared_ptr<const Plan> plan_;
  std::byte* arena_;
  // Pointers of all steps, one after the other; those of a step are in its KernelRun.
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  IdVector<StepId, KernelRun> runs_;
  Operands outside_;  // of the arena
  Operands moving_;   // those of them that set_moving() names
  IdVector<StepId, std::vector<std::unique_ptr<Frame>>> bodies_;
};

}  // namespace weft
