// Memory assignment: the space, lifetime and arena offset of every buffer.
#include <algorithm>

#include "weft/core/rounding.h"
#include "weft/graph/plan/control_plan.h"
#include "weft/graph/plan/layout.h"
#include "weft/graph/plan/offsets.h"

namespace weft {
namespace {

using Index = std::size_t;

Space space_of(CompiledProgram::LeafKind kind) {
  switch (kind) {
    case CompiledProgram::LeafKind::variable: return Space::variable;
    case CompiledProgram::LeafKind::constant: return Space::constant;
    default: return Space::feed;
  }
}

class MemoryAssigner {
 public:
  MemoryAssigner(Plan& plan, const Liveness& liveness, const BufferGroups& groups)
      : plan_(plan),
        liveness_(liveness),
        groups_(groups),
        end_(plan.waves.end_id()),
        reads_(variable_reads(plan)) {}

  void run() {
    plan_.first_write = end_;
    for (const WaveId w : plan_.waves.ids()) {
      if (!plan_.waves[w].checks.empty()) last_check_ = w;
      for (const StepId s : plan_.waves[w].steps) {
        const ControlPlan* control = plan_.steps[s].control.get();
        if (control != nullptr && control->checks) last_check_ = w + 1;
      }
    }
    make_leaf_buffers();
    make_group_buffers();
    assign_updates();
    if (plan_.loop_body) assign_successors();
    assign_outputs();
    make_scratch();
    assign_arena();
  }

 private:
  void make_leaf_buffers() {
    for (const ValueId v : plan_.values.ids()) {
      PlanValue& value = plan_.values[v];
      if (value.root != v) continue;
      const CompiledProgram::Leaf leaf = leaf_of(plan_, v);
      if (leaf.kind == CompiledProgram::LeafKind::none) continue;
      value.buffer = plan_.buffers.push_back(
          {space_of(leaf.kind), leaf.index, 0, value.bytes, WaveId(0), end_, v});
    }
  }

  void make_group_buffers() {
    buffer_of_group_.resize(groups_.groups.size());
    for (const ValueId v : plan_.values.ids()) {
      const BufferGroups::GroupId group = groups_.group_of[v];
      if (!group.defined()) continue;
      BufferId& buffer = buffer_of_group_[group];
      const BufferGroups::Group& g = groups_.groups[group];
      if (!buffer.defined()) {
        const WaveId wave = plan_.steps[g.begin].wave;
        buffer = plan_.buffers.push_back({Space::arena, -1, 0, g.bytes, wave, wave, g.first_value});
      }
      plan_.values[v].buffer = buffer;
      PlanBuffer& b = plan_.buffers[buffer];
      b.end = std::max(b.end, plan_.steps[liveness_.producer[v]].wave);
      for (const StepId s : liveness_.readers[v]) b.end = std::max(b.end, plan_.steps[s].wave);
      if (liveness_.at_end[v]) b.end = end_;
    }
  }

  // Returns true if the new value may overwrite the variable, that is, if all data checks run
  // before the first wave of `buffer` and no step other than `head` reads the old value in that
  // wave or later.
  bool update_fits(const PlanUpdate& update, const PlanBuffer& buffer, StepId head) const {
    if (buffer.begin < last_check_) return false;
    const ValueId read = reads_[update.variable];
    if (!read.defined()) return true;
    if (plan_.values[read].bytes != buffer.bytes) return false;
    for (const StepId s : liveness_.readers[read]) {
      if (s != head && plan_.steps[s].wave >= buffer.begin) return false;
    }
    return true;
  }

  void assign_updates() {
    for (const BufferGroups::GroupId g : groups_.groups.ids()) {
      const BufferGroups::Group& group = groups_.groups[g];
      if (!group.update.defined()) continue;
      PlanUpdate& update = plan_.updates[group.update];
      PlanBuffer& buffer = plan_.buffers[buffer_of_group_[g]];
      if (plan_.updates_last || !update_fits(update, buffer, group.begin)) {
        discard_inplace(plan_.steps[group.begin], update.variable);
        continue;
      }
      update.direct = true;
      buffer.space = Space::variable;
      buffer.index = update.variable.number();
      plan_.first_write = std::min(plan_.first_write, buffer.begin);
    }
  }

  // In a loop body, a new value that does not overwrite the variable is stored in a separate
  // buffer, and the next iteration reads it from there.
  void assign_successors() {
    for (PlanUpdate& update : plan_.updates) {
      const ValueId root = root_of(plan_, update.value);
      if (update.direct || update.output >= 0 || !groups_.group_of[root].defined()) continue;
      PlanBuffer& buffer = plan_.buffers[plan_.values[root].buffer];
      if (buffer.space != Space::arena) continue;  // also updates another variable
      buffer.space = Space::successor;
      buffer.index = update.variable.number();
      update.successor = true;
    }
  }

  void discard_inplace(PlanStep& head, VariableId variable) {
    const ValueId read = reads_[variable];
    std::erase_if(head.inplace, [&](const auto& pair) {
      return root_of(plan_, head.input(pair.second)) == read;
    });
  }

  void assign_outputs() {
    for (Index i = 0; i < plan_.outputs.size(); ++i) {
      PlanOutput& output = plan_.outputs[i];
      const ValueId root = root_of(plan_, output.value);
      // An output that no step computes (a leaf) is never streamed.
      output.streamed = output.streamed && liveness_.producer[root].defined();
      PlanBuffer& buffer = plan_.buffers[plan_.values[root].buffer];
      if (output.streamed || buffer.space != Space::arena) continue;
      buffer.space = Space::output;
      buffer.index = static_cast<int>(i);
      output.direct = true;
    }
  }

  void make_scratch() {
    for (PlanStep& step : plan_.steps) {
      plan_.slot_scratch = std::max(plan_.slot_scratch, aligned_size(step.kernel.slot_scratch));
      if (step.kernel.shared_scratch == 0) continue;
      step.scratch = plan_.buffers.push_back(
          {Space::arena, -1, 0, step.kernel.shared_scratch, step.wave, step.wave, {}});
    }
  }

  void assign_arena() {
    std::vector<MemoryBlock> blocks;
    std::vector<BufferId> of_block;
    for (const BufferId b : plan_.buffers.ids()) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.space != Space::arena) continue;
      blocks.push_back(
          {buffer.bytes + 2 * plan_.guard, buffer.begin.number(), buffer.end.number()});
      of_block.push_back(b);
    }
    plan_.arena_bytes = assign_offsets(blocks);
    for (Index i = 0; i < blocks.size(); ++i) {
      plan_.buffers[of_block[i]].offset = blocks[i].offset + plan_.guard;
    }
  }

  Plan& plan_;
  const Liveness& liveness_;
  const BufferGroups& groups_;
  const WaveId end_;
  const IdVector<VariableId, ValueId> reads_;
  IdVector<BufferGroups::GroupId, BufferId> buffer_of_group_;
  WaveId last_check_ = WaveId(0);  // all data checks have run when this wave begins
};

}  // namespace

void assign_memory(Plan& plan, const Liveness& liveness, const BufferGroups& groups) {
  MemoryAssigner(plan, liveness, groups).run();
}

}  // namespace weft
