#include "weft/graph/plan/control_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/graph/plan/control_plan.h"

namespace weft {
namespace {

using Index = std::size_t;

// Minimum number of iterations for which packing an operand is worthwhile.
constexpr std::int64_t kMinStepsToPack = 4;

class ControlPlanner {
 public:
  ControlPlanner(const Plan& plan, NodeId node, const PlanOptions& options, PlanStep& step)
      : plan_(plan),
        node_(*plan.program->nodes[node]),
        bodies_(plan.program->bodies[node]),
        options_(options),
        step_(step) {}

  void run() {
    c_.op = control_op(node_);
    const Attributes& a = node_.attributes();
    int sequences = 0, carries = 0;
    if (c_.op == ControlOp::scan) {
      c_.length = a.dim("length").evaluate(plan_.bindings);
      c_.reverse = a.flag("reverse");
      sequences = static_cast<int>(a.integer("sequences"));
    } else if (c_.op == ControlOp::while_loop) {
      c_.length = a.integer("limit");
    }
    if (c_.op != ControlOp::cond) carries = static_cast<int>(a.integer("carries"));
    for (const CompiledProgram::Body& body : bodies_) plan_body(body, carries, sequences);
    if (c_.op != ControlOp::cond) plan_carries(carries);
    estimate();
    step_.kernel.shared_scratch = scratch_;
    step_.control = std::make_shared<const ControlPlan>(std::move(c_));
  }

 private:
  ScratchRange reserve(std::size_t bytes) {
    if (bytes == 0) return {};
    const ScratchRange range{scratch_, bytes};
    scratch_ += aligned_size(bytes);
    return range;
  }

  const PlanValue* operand(int i) const {
    const ValueId id = step_.input(i);
    return id.defined() ? &plan_.values[id] : nullptr;
  }

  static bool is_sequence(int operand, int carries, int sequences) {
    return operand >= carries && operand < carries + sequences;
  }

  Bindings bind(const CompiledProgram::Body& body, int carries, int sequences) const {
    Bindings bindings;
    for (Index i = 0; i < body.formals.size(); ++i) {
      const int at = body.first_operand + static_cast<int>(i);
      const Shape& formal = body.formals[i].shape;
      const int skip = is_sequence(at, carries, sequences) ? 1 : 0;
      for (int axis = 0; axis < formal.rank(); ++axis) {
        if (const SymbolPtr s = formal[axis].as_symbol()) {
          bindings.bind(s, operand(at)->sizes[static_cast<Index>(axis) + static_cast<Index>(skip)]);
        }
      }
    }
    return bindings;
  }

  void plan_body(const CompiledProgram::Body& from, int carries, int sequences) {
    const CompiledProgram& program = *from.program;
    BodyPlan body;
    body.first_operand = from.first_operand;
    body.operands = from.operands;
    body.strides.resize(program.inputs.size());
    PlanOptions inside = options_;
    inside.memory_budget = 0;
    inside.updates_last = false;
    inside.loop_body = c_.op != ControlOp::cond;
    inside.constant_inputs.assign(program.inputs.size(), 0);
    for (const InputId i : program.inputs.ids()) {
      const int at = from.operands[i];
      if (is_sequence(at, carries, sequences) && c_.length > 0) {
        body.strides[i] = operand(at)->bytes / static_cast<std::size_t>(c_.length);
      }
      inside.constant_inputs[i] =
          at >= carries + sequences && c_.op == ControlOp::scan && c_.length >= kMinStepsToPack;
    }
    body.plan = specialise(from.program, bind(from, carries, sequences), inside);
    body.outputs = from.outputs;
    for (const PlanOutput& output : body.plan->outputs) {
      body.output_strides.push_back(c_.op == ControlOp::scan ? body.plan->values[output.value].bytes
                                                             : 0);
    }
    body.arena = reserve(body.plan->arena_bytes);
    body.packed.resize(body.plan->steps.size());
    for (const StepId s : body.plan->steps.ids()) {
      const PlanStep& inner = body.plan->steps[s];
      if (inner.packed_input.defined()) body.packed[s] = reserve(inner.kernel.packed->bytes);
      if (inner.kernel.check || (inner.control != nullptr && inner.control->checks)) {
        c_.checks = true;
      }
      if (inner.kernel.exchange || (inner.control != nullptr && inner.control->exchanges)) {
        c_.exchanges = true;
        reject_collective(*inner.node);
      }
    }
    step_.kernel.slot_scratch = std::max(step_.kernel.slot_scratch, body.plan->slot_scratch);
    c_.bodies.push_back(std::move(body));
  }

  // Rejects collectives in branches and while loops. Ranks may take different branches or run
  // different numbers of iterations, and would then wait for one another forever.
  void reject_collective(const Node& inner) const {
    if (c_.op == ControlOp::scan) return;
    inner.graph().fail(
        GraphError(fmt::format("a collective op is inside a {}, whose control flow may differ "
                               "between ranks; move it outside, or into a scan",
                               node_.op().name)),
        inner);
  }

  void plan_carries(int count) {
    const BodyPlan& body = c_.bodies.back();
    const auto& variables = bodies_.back().carries;
    c_.carries.resize(static_cast<Index>(count));
    for (int i = 0; i < count; ++i) {
      c_.carries[static_cast<Index>(i)].bytes = operand(i)->bytes;
    }
    for (const VariableId v : variables.ids()) {
      c_.carries[static_cast<Index>(variables[v])].variable = v;
    }
    for (const PlanUpdate& update : body.plan->updates) {
      const int number = variables[update.variable];
      CarryPlan& carry = c_.carries[static_cast<Index>(number)];
      const bool read = step_.output(number).defined();
      if (update.output >= 0) {
        carry.storage = CarryStorage::output;
        carry.output = update.output;
        continue;
      }
      if (!read) carry.first = reserve(carry.bytes);
      carry.storage = update.successor ? CarryStorage::alternate : CarryStorage::in_place;
      if (update.successor) {
        carry.second = reserve(carry.bytes);
      } else {
        c_.inplace.emplace_back(number, number);
      }
    }
  }

  void estimate() {
    const double steps =
        c_.op == ControlOp::cond ? 1 : static_cast<double>(std::max<std::int64_t>(c_.length, 0));
    double flops = 0, bytes = 0, ns = 0;  // for a cond: maximum over the branches
    for (const BodyPlan& body : c_.bodies) {
      double own_flops = 0, own_bytes = 0, own_ns = 0;
      for (const PlanStep& s : body.plan->steps) {
        own_flops += s.flops;
        own_bytes += s.bytes;
        own_ns += s.cost_ns;
      }
      const bool one_of = c_.op == ControlOp::cond;
      flops = one_of ? std::max(flops, own_flops) : flops + own_flops;
      bytes = one_of ? std::max(bytes, own_bytes) : bytes + own_bytes;
      ns = one_of ? std::max(ns, own_ns) : ns + own_ns;
    }
    step_.flops = steps * flops;
    step_.bytes = steps * bytes;
    step_.cost_ns = steps * ns;
  }

  const Plan& plan_;
  const Node& node_;
  const std::vector<CompiledProgram::Body>& bodies_;
  const PlanOptions& options_;
  PlanStep& step_;
  ControlPlan c_;
  std::size_t scratch_ = 0;
};

}  // namespace

void plan_control(const Plan& plan, NodeId node, const PlanOptions& options, PlanStep& step) {
  ControlPlanner(plan, node, options, step).run();
}

}  // namespace weft
