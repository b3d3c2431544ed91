// Buffers: whose memory every value is, for how long, and where in the arena.
#include <algorithm>

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

class Placer {
 public:
  Placer(Plan& plan, const Uses& uses, const Occupation& occupation)
      : plan_(plan),
        uses_(uses),
        o_(occupation),
        end_(static_cast<int>(plan.waves.size())),
        reads_(variable_reads(plan)) {}

  void run() {
    plan_.first_write = end_;
    for (const PlanWave& wave : plan_.waves) {
      if (!wave.checks.empty()) last_check_ = static_cast<int>(&wave - plan_.waves.data());
    }
    make_leaf_buffers();
    make_group_buffers();
    place_updates();
    place_outputs();
    make_scratch();
    assign_arena();
  }

 private:
  void make_leaf_buffers() {
    for (Index v = 0; v < plan_.values.size(); ++v) {
      PlanValue& value = plan_.values[v];
      if (value.root != static_cast<int>(v)) continue;
      const CompiledProgram::Leaf leaf = leaf_of(plan_, static_cast<int>(v));
      if (leaf.kind == CompiledProgram::LeafKind::none) continue;
      value.buffer = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back(
          {space_of(leaf.kind), leaf.index, 0, value.bytes, 0, end_, static_cast<int>(v)});
    }
  }

  void make_group_buffers() {
    buffer_of_group_.assign(o_.groups.size(), -1);
    for (Index v = 0; v < plan_.values.size(); ++v) {
      const int group = o_.group_of[v];
      if (group < 0) continue;
      int& buffer = buffer_of_group_[static_cast<Index>(group)];
      const Occupation::Group& g = o_.groups[static_cast<Index>(group)];
      if (buffer < 0) {
        buffer = static_cast<int>(plan_.buffers.size());
        const int wave = plan_.steps[static_cast<Index>(g.begin)].wave;
        plan_.buffers.push_back({Space::arena, -1, 0, g.bytes, wave, wave, g.first_value});
      }
      plan_.values[v].buffer = buffer;
      PlanBuffer& b = plan_.buffers[static_cast<Index>(buffer)];
      b.end = std::max(b.end, plan_.steps[static_cast<Index>(uses_.producer[v])].wave);
      for (int s : uses_.readers[v])
        b.end = std::max(b.end, plan_.steps[static_cast<Index>(s)].wave);
      if (uses_.at_end[v]) b.end = end_;
    }
  }

  // Nobody reads the old value in the wave in which the new one is begun, or later; and all data
  // are checked by then.
  bool update_fits(const PlanUpdate& update, const PlanBuffer& buffer, int head) const {
    if (buffer.begin < last_check_) return false;
    const int read = reads_[static_cast<Index>(update.variable)];
    if (read < 0) return true;
    if (plan_.values[static_cast<Index>(read)].bytes != buffer.bytes) return false;
    for (int s : uses_.readers[static_cast<Index>(read)]) {
      if (s != head && plan_.steps[static_cast<Index>(s)].wave >= buffer.begin) return false;
    }
    return true;
  }

  void place_updates() {
    for (Index g = 0; g < o_.groups.size(); ++g) {
      const Occupation::Group& group = o_.groups[g];
      if (group.update < 0) continue;
      PlanUpdate& update = plan_.updates[static_cast<Index>(group.update)];
      PlanBuffer& buffer = plan_.buffers[static_cast<Index>(buffer_of_group_[g])];
      if (plan_.updates_last || !update_fits(update, buffer, group.begin)) {
        forget_overwrite(plan_.steps[static_cast<Index>(group.begin)], update.variable);
        continue;
      }
      update.direct = true;
      buffer.space = Space::variable;
      buffer.index = update.variable;
      plan_.first_write = std::min(plan_.first_write, buffer.begin);
    }
  }

  void forget_overwrite(PlanStep& head, int variable) {
    const int read = reads_[static_cast<Index>(variable)];
    std::erase_if(head.inplace, [&](const auto& pair) {
      return root_of(plan_, head.inputs[static_cast<Index>(pair.second)]) == read;
    });
  }

  void place_outputs() {
    for (Index i = 0; i < plan_.outputs.size(); ++i) {
      PlanOutput& output = plan_.outputs[i];
      const int root = root_of(plan_, output.value);
      PlanBuffer& buffer =
          plan_.buffers[static_cast<Index>(plan_.values[static_cast<Index>(root)].buffer)];
      if (buffer.space != Space::arena) continue;
      buffer.space = Space::output;
      buffer.index = static_cast<int>(i);
      output.direct = true;
    }
  }

  void make_scratch() {
    for (PlanStep& step : plan_.steps) {
      plan_.slot_scratch = std::max(plan_.slot_scratch, (step.kernel.slot_scratch + 63) / 64 * 64);
      if (step.kernel.shared_scratch == 0) continue;
      step.scratch = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back(
          {Space::arena, -1, 0, step.kernel.shared_scratch, step.wave, step.wave, -1});
    }
  }

  void assign_arena() {
    std::vector<MemoryBlock> blocks;
    std::vector<Index> of_block;
    for (Index b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.space != Space::arena) continue;
      blocks.push_back({buffer.bytes + 2 * plan_.guard, buffer.begin, buffer.end});
      of_block.push_back(b);
    }
    plan_.arena_bytes = assign_offsets(blocks);
    for (Index i = 0; i < blocks.size(); ++i) {
      plan_.buffers[of_block[i]].offset = blocks[i].offset + plan_.guard;
    }
  }

  Plan& plan_;
  const Uses& uses_;
  const Occupation& o_;
  const int end_;
  const std::vector<int> reads_;  // value that reads a variable
  std::vector<int> buffer_of_group_;
  int last_check_ = 0;  // no check runs after the begin of this wave
};

}  // namespace

void place_memory(Plan& plan, const Uses& uses, const Occupation& occupation) {
  Placer(plan, uses, occupation).run();
}

}  // namespace weft
