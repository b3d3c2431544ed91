// What a step runs whose op has bodies: their plans, and where their carries live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/graph/control/body.h"
#include "weft/graph/plan/plan.h"

namespace weft {

/// Memory inside the scratch of the step; none for what needs none.
struct ScratchRange {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool defined() const { return bytes > 0; }
};

/// The last elements of a sequence that is made and read while a loop runs, never whole.
struct Ring {
  ScratchRange memory;
  std::size_t slots = 0;
  bool defined() const { return slots > 0; }
  /// Where the element of this index is in the scratch.
  std::size_t place(std::size_t index) const {
    return memory.offset + index % slots * (memory.bytes / slots);
  }
};

/// A body for concrete sizes.
struct BodyPlan {
  std::shared_ptr<const Plan> plan;
  int first_operand = 0;
  IdVector<InputId, int> operands;          // by input of the plan's program: the step's operand
  IdVector<InputId, std::size_t> strides;   // bytes to the operand of the next index; 0: the same
  std::vector<int> outputs;                 // by output of the plan: the step's output
  std::vector<std::size_t> output_strides;  // bytes to the place of the next index
  // Segments (segment_loops.h); empty elsewhere.
  IdVector<InputId, Ring> input_rings;  // elements that are not read from the step's operand
  std::vector<Ring> output_rings;       // and those that do not go to the step's output
  ScratchRange arena;                   // of the plan
  /// Operands that stay the same are packed once for all steps: by step of the plan.
  IdVector<StepId, ScratchRange> packed;
};

/// How a carry's memory goes from step to step.
enum class CarryWay : std::uint8_t {
  kept,       // it does not change
  in_place,   // the body writes over it, or copies to it at the end of a step
  alternate,  // the body reads one buffer and writes the other
  output,     // the new value is made in a stacked output: the next step reads it there
};

struct CarryPlan {
  VariableId variable;  // of the body's program; none if no step reads or changes it
  CarryWay way = CarryWay::kept;
  std::size_t bytes = 0;
  int output = -1;     // of the body's plan, for CarryWay::output
  ScratchRange first;  // in_place, alternate: instead of the step's output, where nobody reads that
  ScratchRange second;  // alternate
};

/// Immutable once made.
struct ControlPlan {
  ControlOp op = ControlOp::scan;
  std::vector<BodyPlan> bodies;  // as the op lists them
  std::vector<CarryPlan> carries;
  std::int64_t length = 0;  // steps of a scan; the most steps of a while loop
  bool reverse = false;
  /// Some kernel inside checks its data: no variable may be written before all steps have run.
  bool checks = false;
  bool exchanges = false;  // some kernel inside is one of all ranks
  /// {output, input}: carries whose last value may be made over the first one.
  std::vector<std::pair<int, int>> inplace;

  // Segments (segment_loops.h). A loop keeps its carries as they are before every `segment`-th
  // step, one place after the other, in its output `checkpoints`.
  std::int64_t segment = 0;  // 0: none
  int checkpoints = -1;
  /// The loop over it has them as its operand `checkpoints`, and runs the steps of a segment again
  /// before its own: they are its bodies[1].
  const Node* replayed = nullptr;
  std::vector<CarryPlan> replayed_carries;
  std::size_t replayed_bytes = 0;  // of the results that are made again
  double replayed_flops = 0;
};

/// Bytes of the carries that one checkpoint keeps; `at` gets the place of each in it.
std::size_t checkpoint_bytes(const std::vector<CarryPlan>& carries,
                             std::vector<std::size_t>* at = nullptr);

}  // namespace weft
