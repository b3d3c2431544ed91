// A plan: a compiled program for concrete sizes: kernels, their order in waves, and where every
// value lies in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/plan/compile.h"
#include "weft/ops/kernel.h"

namespace WEFT_API weft {

/// Who owns the memory of a buffer.
enum class Space : std::uint8_t {
  arena,      // the Session's arena, at `offset`
  feed,       // the caller's tensor
  variable,   // the VariableStore
  constant,   // the graph
  output,     // the tensor handed to the caller
  successor,  // in the body of a loop: where the next step finds the variable's new value
};

/// Concrete form of one value of the program.
struct PlanValue {
  DType dtype = DType::f32;
  Sizes sizes;
  std::size_t bytes = 0;
  ValueId root;     // the value whose memory this is
  BufferId buffer;  // of roots that exist
  ValueId source;   // the program's value that this is, or repeats
};

/// A range of memory with a lifetime in waves, both ends included. Values that are made in place
/// over one another share a buffer.
struct PlanBuffer {
  Space space = Space::arena;
  int index = -1;          // into inputs, variables, constants or outputs of the program
  std::size_t offset = 0;  // in the arena
  std::size_t bytes = 0;
  WaveId begin = WaveId(0);
  WaveId end = WaveId(0);
  ValueId first_value;  // none for scratch
  /// The variable in whose memory it lies, if there.
  VariableId variable() const { return VariableId(space == Space::variable ? index : -1); }
};

struct ControlPlan;

/// One execution of a kernel, or of the bodies of a loop or branch. Operands are none where they
/// are absent or not needed.
struct PlanStep {
  const Node* node = nullptr;  // null for a copy that the plan itself needs
  Kernel kernel;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  /// Pairs {output, input} that are written over one another in this plan.
  std::vector<std::pair<int, int>> inplace;
  double flops = 0;
  double bytes = 0;                            // read and written
  double cost_ns = 0;                          // estimate on one core
  BufferId scratch;                            // the shared scratch
  VariableId packed_variable;                  // that Kernel::packed is made of
  InputId packed_input;                        // the same in the body of a loop
  std::shared_ptr<const ControlPlan> control;  // of loops and branches, which have no kernel
  WaveId wave = WaveId(0);
  /// A second run: the results of the first were dropped in between.
  bool rematerialised = false;

  /// Pairs {output, input} that the step can write over one another; none for copies.
  const std::vector<std::pair<int, int>>& may_inplace() const;
  /// The values that operand and output `i` are.
  ValueId input(int i) const { return inputs[static_cast<std::size_t>(i)]; }
  ValueId output(int i) const { return outputs[static_cast<std::size_t>(i)]; }
};

/// Steps that may run at the same time, and the checks of data that run before them.
struct PlanWave {
  std::vector<StepId> steps;
  std::vector<StepId> checks;  // steps whose Kernel::check runs here
};

/// An output of the program.
struct PlanOutput {
  std::string name;
  ValueId value;
  /// The value is made in the output's own memory; else it is copied there at the end.
  bool direct = false;
  /// It has no memory of its own: a step makes it wherever its value is, where it may be only
  /// behind the wave of that step.
  bool passes = false;
};

/// An update of a variable at the end of the run.
struct PlanUpdate {
  VariableId variable;
  ValueId value;
  bool direct = false;  // made in the variable's own memory
  /// In the body of a loop, where nothing need be copied since the next step finds it there:
  bool successor = false;  // made in memory of its own beside the variable's
  int output = -1;         // made in this output of the plan
};

/// Bytes by place, and per buffer.
struct MemoryReport {
  /// A buffer of the arena.
  struct Entry {
    std::string name;  // op and place of the value, or "scratch of ..."
    std::string type;
    std::size_t bytes = 0;
    std::size_t offset = 0;
    WaveId begin, end;
  };
  /// Steps of one op that run a second time because of the budget.
  struct Recomputed {
    std::string op;
    int steps = 0;
    std::size_t bytes = 0;  // of their results
    double flops = 0;
  };
  std::size_t arena = 0;   // planned bytes
  std::size_t budget = 0;  // what the arena was to fit into; 0 = no limit
  /// Most bytes of live buffers at one time: no plan for this order needs less.
  std::size_t live_peak = 0;
  std::size_t slot_scratch = 0;  // besides, per worker
  std::size_t feeds = 0, variables = 0, constants = 0, outputs = 0;
  std::size_t packed = 0;      // copies of weights in the layouts of kernels, beside the variables
  std::vector<Entry> entries;  // arena buffers, largest first
  std::size_t recomputed_bytes = 0;
  double recomputed_flops = 0;
  std::vector<Recomputed> recomputed;  // by FLOPs, most first
  /// A table for the terminal: totals, and the `rows` largest.
  std::string text(std::size_t rows = 20) const;
};

/// FLOPs and bytes moved, per step in order and in total.
struct CostReport {
  /// A step.
  struct Entry {
    std::string name;
    double flops = 0, bytes = 0;
  };
  double flops = 0, bytes = 0;  // of rematerialisation, too
  std::vector<Entry> entries;
  /// A table for the terminal: totals, and the `rows` dearest.
  std::string text(std::size_t rows = 20) const;
};

/// Immutable once made.
class Plan {
 public:
  std::shared_ptr<const CompiledProgram> program;
  Bindings bindings;
  /// Those of the program, then those of added copies and of rematerialised results.
  IdVector<ValueId, PlanValue> values;
  IdVector<BufferId, PlanBuffer> buffers;
  IdVector<StepId, PlanStep> steps;
  IdVector<WaveId, PlanWave> waves;
  std::vector<PlanOutput> outputs;
  IdVector<UpdateId, PlanUpdate> updates;
  std::size_t arena_bytes = 0;
  std::size_t memory_budget = 0;  // arena_bytes is not larger; 0 = no limit
  std::size_t slot_scratch = 0;   // bytes per worker, 64-byte aligned
  std::size_t guard = 0;          // bytes kept free on both sides of every arena buffer (test mode)
  bool updates_last = false;      // no variable is written before the end
  bool loop_body = false;         // runs many times: see PlanOptions
  /// The first wave that writes into a variable's memory; waves.end_id() where only the end does.
  WaveId first_write = WaveId(0);

  /// Where a value lies.
  const PlanBuffer& buffer_of(ValueId value) const {
    return buffers[values[values[value].root].buffer];
  }
  /// "matmul (net.head)", "again matmul (net.head)" if rematerialised; for reports and messages.
  std::string step_name(StepId step) const;

  /// Everything that can be said before a run.
  MemoryReport memory() const;
  CostReport cost() const;
  /// One line per step: wave, op, operands with place in memory.
  std::string text() const;
};

}  // namespace weft
