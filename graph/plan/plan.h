// A plan: a compiled program for concrete sizes, with kernels, their order in waves, and the memory
// location of every value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/plan/compile.h"
#include "weft/ops/kernel.h"

namespace WEFT_API weft {

/// Owner of a buffer's memory.
enum class Space : std::uint8_t {
  arena,      // the Session's arena, at `offset`
  feed,       // the caller's tensor
  variable,   // the VariableStore
  constant,   // the graph
  output,     // the tensor returned to the caller
  successor,  // in a loop body: memory from which the next iteration reads the new value
};

/// A value of the program with concrete sizes.
struct PlanValue {
  DType dtype = DType::f32;
  Sizes sizes;
  std::size_t bytes = 0;
  ValueId root;     // value that owns the memory: this value, or the value that it aliases
  BufferId buffer;  // set only for roots
  ValueId source;   // the program value that this value represents, copies or recomputes
};

/// A range of memory with a lifetime in waves (both ends inclusive). Values that overwrite one
/// another in place share a buffer.
struct PlanBuffer {
  Space space = Space::arena;
  int index = -1;          // index into the program's inputs, variables, constants or outputs
  std::size_t offset = 0;  // offset in the arena
  std::size_t bytes = 0;
  WaveId begin = WaveId(0);
  WaveId end = WaveId(0);
  ValueId first_value;  // undefined for scratch
  /// The variable that owns the memory; undefined if the space is not Space::variable.
  VariableId variable() const { return VariableId(space == Space::variable ? index : -1); }
};

struct ControlPlan;

/// One execution of a kernel, or of the bodies of a loop or branch. Operands that are absent or not
/// needed have undefined ids.
struct PlanStep {
  const Node* node = nullptr;  // null for a copy that the planner added
  Kernel kernel;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// {output, input} pairs: in this plan, the output overwrites the input.
  std::vector<std::pair<int, int>> inplace;
  double flops = 0;
  double bytes = 0;                            // bytes read and written
  double cost_ns = 0;                          // estimated time on one core
  BufferId scratch;                            // Kernel::shared_scratch
  VariableId packed_variable;                  // source of Kernel::packed
  InputId packed_input;                        // source of Kernel::packed in a loop body
  std::shared_ptr<const ControlPlan> control;  // for loops and branches, which have no kernel
  WaveId wave = WaveId(0);
  /// True if this is a second run, after the results of the first run have been dropped.
  bool rematerialised = false;

  /// Returns the {output, input} pairs for which the step can overwrite the input with the output;
  /// empty for copies.
  const std::vector<std::pair<int, int>>& may_inplace() const;
  /// Return the values of operand `i` and output `i`.
  ValueId input(int i) const { return inputs[static_cast<std::size_t>(i)]; }
  ValueId output(int i) const { return outputs[static_cast<std::size_t>(i)]; }
};

/// Steps that may run at the same time, and the data checks that run before them.
struct PlanWave {
  std::vector<StepId> steps;
  std::vector<StepId> checks;  // steps whose Kernel::check runs here
};

/// An output of the program.
struct PlanOutput {
  std::string name;
  ValueId value;
  /// True if the value is written directly to the output's memory; otherwise it is copied at the
  /// end of the run.
  bool direct = false;
  /// True if the output is streamed: the value is read directly from the producing step's buffer
  /// after that step's wave, and may be overwritten later. It is not materialised as an output.
  bool streamed = false;
};

/// An update of a variable at the end of the run.
struct PlanUpdate {
  VariableId variable;
  ValueId value;
  bool direct = false;  // written directly to the variable's memory
  /// In a loop body: true if the new value is written to a separate buffer (Space::successor), from
  /// which the next iteration reads it without a copy.
  bool successor = false;
  /// In a loop body: the plan output that contains the new value and from which the next iteration
  /// reads it without a copy; otherwise -1.
  int output = -1;
};

/// Memory use in bytes, by space and by buffer.
struct MemoryReport {
  /// A buffer of the arena.
  struct Entry {
    std::string name;  // op and scope of the value, or "scratch of ..."
    std::string type;
    std::size_t bytes = 0;
    std::size_t offset = 0;
    WaveId begin, end;
  };
  /// The steps with the same op that run a second time because of the budget.
  struct Recomputed {
    std::string op;
    int steps = 0;
    std::size_t bytes = 0;  // size of their results
    double flops = 0;
  };
  std::size_t arena = 0;   // planned bytes
  std::size_t budget = 0;  // limit of the arena's size; 0: no limit
  /// Peak of live buffer bytes, a lower bound on the arena size for this order of steps.
  std::size_t live_peak = 0;
  std::size_t slot_scratch = 0;  // additional scratch per worker
  std::size_t feeds = 0, variables = 0, constants = 0, outputs = 0;
  std::size_t packed = 0;      // additional copies of weights in kernel-specific layouts
  std::vector<Entry> entries;  // arena buffers, largest first
  std::size_t recomputed_bytes = 0;
  double recomputed_flops = 0;
  std::vector<Recomputed> recomputed;  // in order of decreasing FLOPs
  /// Returns a table for the terminal: totals, and the `rows` largest buffers.
  std::string text(std::size_t rows = 20) const;
};

/// FLOPs and bytes moved: totals, and per step in execution order.
struct CostReport {
  /// Cost of one step.
  struct Entry {
    std::string name;
    double flops = 0, bytes = 0;
  };
  double flops = 0, bytes = 0;  // including rematerialisation
  std::vector<Entry> entries;
  /// Returns a table for the terminal: totals, and the `rows` most expensive steps.
  std::string text(std::size_t rows = 20) const;
};

/// A complete execution plan. Immutable after construction.
class Plan {
 public:
  std::shared_ptr<const CompiledProgram> program;
  Bindings bindings;
  /// The values of the program, followed by the values of added copies and rematerialised results.
  IdVector<ValueId, PlanValue> values;
  IdVector<BufferId, PlanBuffer> buffers;
  IdVector<StepId, PlanStep> steps;
  IdVector<WaveId, PlanWave> waves;
  std::vector<PlanOutput> outputs;
  IdVector<UpdateId, PlanUpdate> updates;
  std::size_t arena_bytes = 0;
  std::size_t memory_budget = 0;  // upper bound of arena_bytes; 0: no limit
  std::size_t slot_scratch = 0;   // bytes per worker, 64-byte aligned
  std::size_t guard = 0;          // guard bytes on each side of every arena buffer (test mode)
  bool updates_last = false;      // no variable is written before all steps have run
  bool loop_body = false;         // see PlanOptions::loop_body
  /// The first wave that writes into a variable's memory; waves.end_id() if variables are written
  /// only after the last wave.
  WaveId first_write = WaveId(0);

  /// Returns the buffer that holds a value.
  const PlanBuffer& buffer_of(ValueId value) const {
    return buffers[values[values[value].root].buffer];
  }
  /// Returns the step's name for reports and messages: "matmul (net.head)", or "recomputed matmul
  /// (net.head)" if rematerialised.
  std::string step_name(StepId step) const;

  /// Return reports of memory use and cost. Both are available before any run.
  MemoryReport memory() const;
  CostReport cost() const;
  /// Returns text with one line per step: wave, op, and operands with their memory locations.
  std::string text() const;
};

}  // namespace weft
