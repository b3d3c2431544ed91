#include "weft/graph/plan/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/graph/plan/control_plan.h"

namespace weft {
namespace {

using Index = std::size_t;
constexpr ValueId kNothing;

// Tracks which value is stored in every byte of one block of memory.
class Contents {
 public:
  void write(std::size_t begin, std::size_t end, ValueId tag) {
    if (begin >= end) return;
    split(begin);
    split(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    ranges_.emplace(begin, Range{end, tag});
  }
  // Returns the value that is stored in all bytes of the range, or kNothing.
  ValueId read(std::size_t begin, std::size_t end) const {
    auto it = ranges_.upper_bound(begin);
    if (it == ranges_.begin()) return kNothing;
    --it;
    const ValueId tag = it->second.tag;
    std::size_t at = begin;
    for (; it != ranges_.end() && it->first <= at && it->second.tag == tag; ++it) {
      at = it->second.end;
      if (at >= end) return tag;
    }
    return kNothing;
  }

 private:
  struct Range {
    std::size_t end;
    ValueId tag;
  };
  void split(std::size_t at) {
    auto it = ranges_.upper_bound(at);
    if (it == ranges_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    const Range tail = it->second;
    it->second.end = at;
    ranges_.emplace(at, tail);
  }
  std::map<std::size_t, Range> ranges_;
};

struct Place {
  std::pair<int, int> block;  // space and index
  std::size_t begin = 0, end = 0;
  bool overlaps(const Place& o) const { return block == o.block && begin < o.end && o.begin < end; }
};

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan), c_(*plan.program) {}

  void run() {
    check_lists();
    check_wiring();
    set_initial_contents();
    for (const WaveId w : plan_.waves.ids()) run_wave(w);
    check_end();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw StateError(fmt::format("the plan of program '{}' is invalid: {}", c_.name, what));
  }
  std::string step(StepId s) const {
    return fmt::format("step {} {}", s.number(), plan_.step_name(s));
  }

  const PlanValue& value(ValueId id) const { return plan_.values.at(id); }

  Place place_of_buffer(const PlanBuffer& b, std::size_t bytes) const {
    if (b.space == Space::arena) return {{0, 0}, b.offset, b.offset + bytes};
    return {{static_cast<int>(b.space), b.index}, 0, bytes};
  }
  Place place(ValueId id) const {
    const PlanValue& root = value(value(id).root);
    if (root.root != value(id).root)
      fail(fmt::format("value {} is an alias of an alias", id.number()));
    if (!root.buffer.defined()) fail(fmt::format("value {} has no memory", id.number()));
    const PlanBuffer& b = plan_.buffers.at(root.buffer);
    if (value(id).bytes > b.bytes)
      fail(fmt::format("value {} is larger than its buffer", id.number()));
    return place_of_buffer(b, value(id).bytes);
  }

  void check_lists() {
    IdVector<StepId, int> runs(plan_.steps.size()), checks(plan_.steps.size());
    for (const PlanWave& wave : plan_.waves) {
      for (const StepId s : wave.steps) ++runs.at(s);
      for (const StepId s : wave.checks) ++checks.at(s);
    }
    for (const StepId s : plan_.steps.ids()) {
      if (runs[s] != 1) fail(fmt::format("{} runs {} times", step(s), runs[s]));
      const int wanted = plan_.steps[s].kernel.check ? 1 : 0;
      if (plan_.steps[s].control != nullptr) check_control(s);
      if (checks[s] != wanted) {
        fail(fmt::format("the data of {} is checked {} times", step(s), checks[s]));
      }
    }
    for (const PlanBuffer& b : plan_.buffers) {
      if (b.space != Space::arena) continue;
      if (b.offset % 64 != 0)
        fail(fmt::format("a buffer at offset {} is not 64-byte aligned", b.offset));
      if (b.offset < plan_.guard || b.offset + b.bytes + plan_.guard > plan_.arena_bytes) {
        fail(fmt::format("a buffer at {} with {} bytes is outside the arena of {} bytes", b.offset,
                         b.bytes, plan_.arena_bytes));
      }
    }
  }

  ValueId source(ValueId id) const { return id.defined() ? value(id).source : ValueId(); }

  // Checks that every step has the operands and results of its node. A plan may repeat steps, but
  // it must not change which kernel runs on which values.
  void check_wiring() {
    std::unordered_map<const Node*, NodeId> numbers;
    for (const NodeId n : c_.nodes.ids()) numbers.emplace(c_.nodes[n], n);
    IdVector<NodeId, int> first_runs(c_.nodes.size());
    for (const StepId s : plan_.steps.ids()) {
      const PlanStep& st = plan_.steps[s];
      const auto wrong = [&](ValueId id, ValueId wanted) {
        fail(
            fmt::format("{} uses value {}, which is value {} of the program, but the program has "
                        "value {} there",
                        step(s), id.number(), source(id).number(), wanted.number()));
      };
      if (st.node == nullptr) {
        const ValueId from = st.inputs.at(0), to = st.outputs.at(0);
        if (source(from) != source(to)) wrong(to, source(from));
        continue;
      }
      const NodeId n = numbers.at(st.node);
      if (!st.rematerialised) ++first_runs[n];
      for (Index i = 0; i < c_.node_inputs[n].size(); ++i) {
        const ValueId wanted = c_.node_inputs[n][i];
        if (source(st.inputs.at(i)) != wanted && !replays(st, i, wanted, numbers)) {
          wrong(st.inputs[i], wanted);
        }
      }
      check_replayed_operands(s, numbers);
      const auto outputs = static_cast<Index>(st.node->output_count());
      for (Index o = 0; o < std::min(st.outputs.size(), outputs); ++o) {
        const ValueId wanted = c_.first_value[n] + static_cast<int>(o);
        if (st.outputs[o].defined() && source(st.outputs[o]) != wanted)
          wrong(st.outputs[o], wanted);
      }
    }
    for (const NodeId n : c_.nodes.ids()) {
      if (first_runs[n] > 1) fail(fmt::format("{} occurs twice", c_.nodes[n]->op().name));
    }
  }

  using Numbers = std::unordered_map<const Node*, NodeId>;

  // Returns true if operand `i` of a loop that replays another loop is a result of that loop, which
  // this loop recomputes.
  bool replays(const PlanStep& st, Index i, ValueId wanted, const Numbers& numbers) const {
    if (st.control == nullptr || st.control->replayed == nullptr || st.inputs[i].defined()) {
      return false;
    }
    const BodyPlan &body = st.control->bodies.at(0), &replayed_body = st.control->bodies.at(1);
    const int output = (wanted - c_.first_value[numbers.at(st.control->replayed)]);
    bool found = false;
    for (const InputId input : body.operands.ids()) {
      if (body.operands[input] != static_cast<int>(i)) continue;
      const Ring& ring = body.input_rings.at(input);
      const auto at = std::find(replayed_body.outputs.begin(), replayed_body.outputs.end(), output);
      if (at == replayed_body.outputs.end()) return false;
      const Ring& made =
          replayed_body.output_rings[static_cast<Index>(at - replayed_body.outputs.begin())];
      if (!ring.defined() || made.memory.offset != ring.memory.offset ||
          static_cast<std::int64_t>(ring.slots) < st.control->segment) {
        return false;
      }
      found = true;
    }
    // An operand that the body does not read may be absent.
    return found || std::none_of(body.operands.begin(), body.operands.end(),
                                 [&](int operand) { return operand == static_cast<int>(i); });
  }

  // Checks that the operands of a replaying loop are its own operands, followed by the operands of
  // the replayed loop and the checkpoints.
  void check_replayed_operands(StepId s, const Numbers& numbers) const {
    const PlanStep& st = plan_.steps[s];
    const Index own = c_.node_inputs[numbers.at(st.node)].size();
    if (st.control == nullptr || st.control->replayed == nullptr) {
      if (st.inputs.size() != own) fail(fmt::format("{} has extra operands", step(s)));
      return;
    }
    const auto& wanted = c_.node_inputs[numbers.at(st.control->replayed)];
    if (st.inputs.size() != own + wanted.size() + 1) {
      fail(fmt::format("{} has too few operands for the loop that it replays", step(s)));
    }
    for (Index i = 0; i < wanted.size(); ++i) {
      const ValueId id = st.inputs[own + i];
      const bool carry = i < st.control->replayed_carries.size();
      if (carry ? id.defined() : source(id) != wanted[i]) {
        fail(fmt::format("{} replays its loop with a different operand {}", step(s), i));
      }
    }
  }

  void set_initial_contents() {
    for (const NodeId n : c_.nodes.ids()) {
      if (c_.leaves[n].kind == CompiledProgram::LeafKind::none) continue;
      const ValueId id = c_.first_value[n];
      const Place p = place(id);
      contents_[p.block].write(p.begin, p.end, id);
    }
  }

  void expect(ValueId id, const std::string& who) {
    const Place p = place(id);
    if (p.begin == p.end) return;
    const ValueId held = contents_[p.block].read(p.begin, p.end);
    if (held == value(id).root) return;
    fail(
        fmt::format("{} reads value {}, but its memory holds {}", who, id.number(),
                    held == kNothing ? "no single value" : fmt::format("value {}", held.number())));
  }

  void run_wave(WaveId w) {
    const PlanWave& wave = plan_.waves[w];
    for (const StepId s : wave.checks) {
      if (!written_variables_.empty()) {
        fail(fmt::format("variable '{}' is written before the data of {} is checked",
                         variable_name(*written_variables_.begin()), step(s)));
      }
      for (const ValueId id : plan_.steps[s].inputs) {
        if (id.defined() && is_integer(value(id).dtype)) expect(id, "the check of " + step(s));
      }
    }
    struct Access {
      StepId step;
      bool write;
      int operand;  // -1 for scratch
      Place place;
    };
    std::vector<Access> accesses;
    for (const StepId s : wave.steps) {
      const PlanStep& st = plan_.steps[s];
      for (Index i = 0; i < st.inputs.size(); ++i) {
        if (!st.inputs[i].defined()) continue;
        expect(st.inputs[i], step(s));
        accesses.push_back({s, false, static_cast<int>(i), place(st.inputs[i])});
      }
      for (Index o = 0; o < st.outputs.size(); ++o) {
        if (!st.outputs[o].defined()) continue;
        if (value(st.outputs[o]).root != st.outputs[o]) {
          fail(fmt::format("{} produces value {}, which is an alias", step(s),
                           st.outputs[o].number()));
        }
        accesses.push_back({s, true, static_cast<int>(o), place(st.outputs[o])});
      }
      if ((st.kernel.shared_scratch > 0) != st.scratch.defined()) {
        fail(fmt::format("{} has no scratch, or has scratch that it does not need", step(s)));
      }
      if (st.kernel.slot_scratch > plan_.slot_scratch) {
        fail(fmt::format("{} has too little scratch per worker", step(s)));
      }
      if (st.scratch.defined()) {
        const PlanBuffer& b = plan_.buffers.at(st.scratch);
        if (b.bytes < st.kernel.shared_scratch) {
          fail(fmt::format("the scratch of {} is too small", step(s)));
        }
        accesses.push_back({s, true, -1, place_of_buffer(b, b.bytes)});
      }
    }
    for (Index i = 0; i < accesses.size(); ++i) {
      for (Index j = i + 1; j < accesses.size(); ++j) {
        const Access &a = accesses[i], &b = accesses[j];
        if ((!a.write && !b.write) || !a.place.overlaps(b.place)) continue;
        if (a.step != b.step) {
          fail(fmt::format("{} and {} access the same memory in wave {}", step(a.step),
                           step(b.step), w.number()));
        }
        if (!a.write && b.operand >= 0 && legal_inplace(a.step, b.operand, a.operand)) continue;
        fail(fmt::format("{} writes over its own operand", step(a.step)));
      }
    }
    for (const Access& a : accesses) {
      if (a.write) write(a.place, a.operand < 0 ? kNothing : output_of(a.step, a.operand), w);
    }
    for (const PlanOutput& o : plan_.outputs) {
      if (o.streamed && has(wave.steps, value(o.value).root)) expect_output(o);
    }
  }

  bool has(const std::vector<StepId>& steps, ValueId made) const {
    return std::any_of(steps.begin(), steps.end(), [&](StepId s) {
      const std::vector<ValueId>& outputs = plan_.steps[s].outputs;
      return std::find(outputs.begin(), outputs.end(), made) != outputs.end();
    });
  }
  void expect_output(const PlanOutput& o) { expect(o.value, fmt::format("output '{}'", o.name)); }

  ValueId output_of(StepId s, int o) const { return plan_.steps[s].output(o); }

  bool legal_inplace(StepId s, int output, int input) const {
    const PlanStep& st = plan_.steps[s];
    if (st.node == nullptr) return false;
    const auto has = [&](const std::vector<std::pair<int, int>>& pairs) {
      return std::count(pairs.begin(), pairs.end(), std::pair(output, input)) > 0;
    };
    if (!has(st.inplace) || !has(st.may_inplace())) return false;
    const ValueId in = st.input(input);
    const PlanValue &a = value(in), &b = value(output_of(s, output));
    return a.sizes == b.sizes && a.bytes == b.bytes &&
           place(in).begin == place(output_of(s, output)).begin;
  }

  std::string variable_name(VariableId v) const { return c_.variables[v].info.name; }

  void write(Place p, ValueId tag, WaveId wave) {
    if (p.block.first == static_cast<int>(Space::variable)) {
      const VariableId variable(p.block.second);
      if (!c_.variables[variable].updated) {
        fail(fmt::format("variable '{}' is written but has no update", variable_name(variable)));
      }
      if (wave < plan_.first_write) {
        fail(fmt::format("variable '{}' is written in wave {}, before wave {}",
                         variable_name(variable), wave.number(), plan_.first_write.number()));
      }
      written_variables_.insert(variable);
    } else if (p.block.first == static_cast<int>(Space::feed) ||
               p.block.first == static_cast<int>(Space::constant)) {
      fail("a feed or a constant is written");
    }
    Contents& contents = contents_[p.block];
    if (p.block.first == 0 && plan_.guard > 0) {
      contents.write(p.begin - plan_.guard, p.end + plan_.guard, kNothing);
    }
    contents.write(p.begin, p.end, tag);
  }

  static bool is_copied(const PlanUpdate& u) { return !u.direct && !u.successor && u.output < 0; }

  // Verifies the plans of the bodies, and checks that their memory is in the step's scratch and
  // does not overlap.
  void check_control(StepId s) const {
    const PlanStep& st = plan_.steps[s];
    std::vector<ScratchRange> ranges;
    for (const BodyPlan& body : st.control->bodies) {
      verify(*body.plan);
      if (body.plan->arena_bytes > body.arena.bytes) {
        fail(fmt::format("a body of {} has too little memory", step(s)));
      }
      ranges.push_back(body.arena);
      for (const ScratchRange& packed : body.packed) ranges.push_back(packed);
      for (const Ring& ring : body.output_rings) ranges.push_back(ring.memory);
    }
    for (const CarryPlan& carry : st.control->replayed_carries) {
      ranges.push_back(carry.first);
      ranges.push_back(carry.second);
    }
    for (const CarryPlan& carry : st.control->carries) {
      ranges.push_back(carry.first);
      ranges.push_back(carry.second);
    }
    std::erase_if(ranges, [](const ScratchRange& r) { return !r.defined(); });
    std::sort(ranges.begin(), ranges.end(),
              [](const ScratchRange& a, const ScratchRange& b) { return a.offset < b.offset; });
    std::size_t end = 0;
    for (const ScratchRange& r : ranges) {
      if (r.offset < end) fail(fmt::format("parts of the memory of {} overlap", step(s)));
      end = r.offset + r.bytes;
    }
    if (end > st.kernel.shared_scratch) {
      fail(fmt::format("the memory of {} is larger than its scratch", step(s)));
    }
  }

  void check_end() {
    for (Index i = 0; i < plan_.outputs.size(); ++i) {
      const PlanOutput& o = plan_.outputs[i];
      if (!o.streamed) expect_output(o);
      const PlanBuffer& b = plan_.buffer_of(o.value);
      if (o.direct && (b.space != Space::output || plan_.outputs.at(b.index).name != o.name)) {
        fail(fmt::format("output '{}' is not in its own memory", o.name));
      }
      if (source(o.value) != c_.outputs.at(i).second) {
        fail(fmt::format("output '{}' is a different value of the program", o.name));
      }
    }
    std::set<VariableId> copied;
    for (const PlanUpdate& u : plan_.updates) {
      if (is_copied(u)) copied.insert(u.variable);
    }
    for (const PlanUpdate& u : plan_.updates) {
      if (std::find(c_.updates.begin(), c_.updates.end(), std::pair(u.variable, source(u.value))) ==
          c_.updates.end()) {
        fail(fmt::format("variable '{}' is updated with a different value of the program",
                         variable_name(u.variable)));
      }
      expect(u.value, fmt::format("the update of '{}'", variable_name(u.variable)));
      const PlanBuffer& b = plan_.buffer_of(u.value);
      if (u.direct && b.variable() != u.variable) {
        fail(fmt::format("the new value of '{}' is not in its memory", variable_name(u.variable)));
      }
      if (u.successor && (b.space != Space::successor || b.index != u.variable.number())) {
        fail(fmt::format("the next value of '{}' is not in its memory", variable_name(u.variable)));
      }
      if (u.output >= 0 && (b.space != Space::output || b.index != u.output)) {
        fail(fmt::format("the next value of '{}' is not in its output", variable_name(u.variable)));
      }
      if (is_copied(u) && copied.contains(b.variable())) {
        fail(fmt::format("the update of '{}' reads '{}', which changes at the same time",
                         variable_name(u.variable), variable_name(b.variable())));
      }
      if (u.direct) written_variables_.erase(u.variable);
    }
    if (!written_variables_.empty()) {
      fail(fmt::format("variable '{}' is overwritten by a value that is not its update",
                       variable_name(*written_variables_.begin())));
    }
  }

  const Plan& plan_;
  const CompiledProgram& c_;
  std::map<std::pair<int, int>, Contents> contents_;
  std::set<VariableId> written_variables_;
};

}  // namespace

void verify(const Plan& plan) { Verifier(plan).run(); }

}  // namespace weft
