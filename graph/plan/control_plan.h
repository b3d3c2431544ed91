// Plans of control-flow steps: plans for their bodies and memory for their carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/graph/control/body.h"
#include "weft/graph/plan/plan.h"

namespace weft {

/// A range of the step's scratch memory; undefined if no memory is needed.
struct ScratchRange {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool defined() const { return bytes > 0; }
};

/// Ring buffer for the last elements of a sequence that is written and read while a loop runs and
/// never exists as a whole.
struct Ring {
  ScratchRange memory;
  std::size_t slots = 0;
  bool defined() const { return slots > 0; }
  /// Returns the offset of element `index` in the scratch memory.
  std::size_t place(std::size_t index) const {
    return memory.offset + index % slots * (memory.bytes / slots);
  }
};

/// A body planned for concrete sizes.
struct BodyPlan {
  std::shared_ptr<const Plan> plan;
  int first_operand = 0;
  IdVector<InputId, int> operands;  // indexed by input of the plan's program: operand of the step
  /// Distance in bytes between the operand elements of consecutive iterations; 0 if all iterations
  /// read the same memory.
  IdVector<InputId, std::size_t> strides;
  std::vector<int> outputs;  // indexed by plan output: output of the step
  std::vector<std::size_t>
      output_strides;  // distance in bytes between elements of consecutive iterations
  // For loops in segments (segment_loops.h); otherwise empty.
  IdVector<InputId, Ring> input_rings;  // elements that are not read from the step's operand
  std::vector<Ring> output_rings;       // elements that are not written to the step's output
  ScratchRange arena;                   // arena of the plan
  /// Indexed by step of the plan: memory for an operand that is the same in all iterations and is
  /// packed once for all iterations.
  IdVector<StepId, ScratchRange> packed;
};

/// Where successive values of a carry are stored.
enum class CarryStorage : std::uint8_t {
  kept,       // the carry does not change
  in_place,   // one buffer: the body overwrites it, or copies into it at the end of an iteration
  alternate,  // two buffers: the body reads one and writes the other
  output,     // the new value is written to a stacked output, where the next iteration reads it
};

/// Memory of one carry of a loop.
struct CarryPlan {
  /// Variable of the body's program; undefined if no step reads or changes the carry.
  VariableId variable;
  CarryStorage storage = CarryStorage::kept;
  std::size_t bytes = 0;
  int output = -1;  // output of the body's plan, for CarryStorage::output
  /// For in_place and alternate: the buffer to use if the step's output is not read.
  ScratchRange first;
  ScratchRange second;  // only for CarryStorage::alternate
};

/// The plan of a loop or branch. Immutable after construction.
struct ControlPlan {
  ControlOp op = ControlOp::scan;
  std::vector<BodyPlan> bodies;  // in the op's order
  std::vector<CarryPlan> carries;
  std::int64_t length = 0;  // iterations of a scan; maximum iterations of a while loop
  bool reverse = false;
  /// True if a kernel in a body checks its data, so that no variable may be written before all
  /// iterations have run.
  bool checks = false;
  bool exchanges = false;  // true if a kernel in a body is a collective
  /// {output, input} pairs of carries whose final value may overwrite the initial value.
  std::vector<std::pair<int, int>> inplace;

  // Segments (segment_loops.h). The first loop of a pair stores its carries before every
  // `segment`-th iteration. These checkpoints are concatenated in output number `checkpoints` of
  // the first loop, which is operand number `checkpoints` of the second loop.
  std::int64_t segment = 0;  // iterations per segment; 0: no segments
  int checkpoints = -1;
  /// In the plan of the second loop: the node of the first loop. The first loop's body is
  /// bodies[1]. It runs again for the iterations of a segment before this loop processes the
  /// segment.
  const Node* replayed = nullptr;
  std::vector<CarryPlan> replayed_carries;
  std::size_t replayed_bytes = 0;  // size of the recomputed results
  double replayed_flops = 0;
};

/// Returns the size of one checkpoint of `carries` in bytes. If `at` is not null, stores the offset
/// of every carry in a checkpoint in it.
std::size_t checkpoint_bytes(const std::vector<CarryPlan>& carries,
                             std::vector<std::size_t>* at = nullptr);

}  // namespace weft
