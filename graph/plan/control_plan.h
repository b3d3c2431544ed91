// Plans of control flow steps: the plans of their bodies and the memory of their carries.
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
  IdVector<InputId, int> operands;  // by input of the plan's program: operand of the step
  /// Bytes from one iteration's element of an operand to the next; 0 if all iterations read the
  /// same memory.
  IdVector<InputId, std::size_t> strides;
  std::vector<int> outputs;                 // by output of the plan: output of the step
  std::vector<std::size_t> output_strides;  // bytes from one iteration's element to the next
  // For loops in segments (segment_loops.h); otherwise empty.
  IdVector<InputId, Ring> input_rings;  // elements that are not read from the step's operand
  std::vector<Ring> output_rings;       // elements that are not written to the step's output
  ScratchRange arena;                   // arena of the plan
  /// By step of the plan: memory for an operand that is the same in all iterations and is packed
  /// once for all of them.
  IdVector<StepId, ScratchRange> packed;
};

/// Where successive values of a carry are stored.
enum class CarryStorage : std::uint8_t {
  kept,       // the carry does not change
  in_place,   // one buffer: the body writes over it, or copies into it at the end of an iteration
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
  ScratchRange second;  // for alternate
};

/// The plan of a loop or branch. Immutable after construction.
struct ControlPlan {
  ControlOp op = ControlOp::scan;
  std::vector<BodyPlan> bodies;  // in the op's order
  std::vector<CarryPlan> carries;
  std::int64_t length = 0;  // iterations of a scan; maximum iterations of a while loop
  bool reverse = false;
  /// A kernel in a body checks its data, so no variable may be written before all iterations have
  /// run.
  bool checks = false;
  bool exchanges = false;  // a kernel in a body is a collective of all ranks
  /// {output, input} pairs of carries whose final value may be written over the initial one.
  std::vector<std::pair<int, int>> inplace;

  // Segments (segment_loops.h). The first loop of a pair stores its carries before every
  // `segment`-th iteration, one checkpoint after the other, in its output number `checkpoints`. The
  // second loop reads them as its operand number `checkpoints`.
  std::int64_t segment = 0;  // iterations per segment; 0: no segments
  int checkpoints = -1;
  /// In the second loop: the first loop's node. Its body is bodies[1], which runs again for the
  /// iterations of a segment before this loop's iterations over that segment.
  const Node* replayed = nullptr;
  std::vector<CarryPlan> replayed_carries;
  std::size_t replayed_bytes = 0;  // size of the results that are computed again
  double replayed_flops = 0;
};

/// Returns the size of one checkpoint of `carries` in bytes. `at`, if not null, receives the offset
/// of every carry in a checkpoint.
std::size_t checkpoint_bytes(const std::vector<CarryPlan>& carries,
                             std::vector<std::size_t>* at = nullptr);

}  // namespace weft
