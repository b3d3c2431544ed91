#include "weft/graph/plan/specialise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/error.h"
#include "weft/graph/plan/control_plan.h"
#include "weft/graph/plan/control_step.h"
#include "weft/graph/plan/layout.h"
#include "weft/graph/plan/memory_budget.h"
#include "weft/ops/make_kernel.h"

namespace weft {

const std::vector<std::pair<int, int>>& PlanStep::may_inplace() const {
  static const std::vector<std::pair<int, int>> none;
  if (control != nullptr) return control->inplace;
  return node == nullptr ? none : node->op().inplace;
}

namespace {

// Returns the error. If `shape` contains an unbound symbol, adds a hint on how to bind it.
ShapeError with_hint(const Error& error, const Shape& shape, const Bindings& bindings) {
  for (const Dim& dim : shape) {
    for (const SymbolPtr& symbol : dim.symbols()) {
      if (bindings.find(*symbol)) continue;
      return ShapeError(
          fmt::format("{}; feed an input whose shape determines it, or set it in RunOptions::dims",
                      error.what()));
    }
  }
  return ShapeError(error.what());
}

// Upper bound on the total bytes of all values (counted twice if rematerialised) and of the scratch
// of all steps. It keeps sums of bytes far from overflow.
constexpr std::size_t kMaxPlanBytes = std::size_t{1} << 60;

void bound_total(const Plan& plan) {
  std::size_t total = 0;
  for (const PlanValue& v : plan.values) total = std::min(total + v.bytes, kMaxPlanBytes + 1);
  for (const PlanStep& s : plan.steps) {
    total = std::min(total + s.kernel.shared_scratch, kMaxPlanBytes + 1);
  }
  if (total <= kMaxPlanBytes) return;
  throw ShapeError(fmt::format(
      "program '{}' with {}: its values need more than 2^60 bytes (1 EiB) in total",
      plan.program->name, plan.bindings.str().empty() ? "no symbols" : plan.bindings.str()));
}

// Runs the op's shape rule again with concrete sizes. The error names the sizes that the op
// rejects, whereas the symbolic result only shows that a dimension became negative.
void rerun_shape_rule(const Node& node, const Bindings& bindings) {
  const OpRecord& op = node.op();
  if (op.infer == nullptr || op.has(Trait::leaf) || op.has_bodies()) return;
  std::vector<ValueType> types;
  std::vector<const ValueType*> pointers;
  types.reserve(node.inputs().size());
  Attributes attributes;
  try {
    for (const Value& input : node.inputs()) {
      if (input.defined()) {
        types.push_back({input.dtype(), Shape(input.shape().evaluate(bindings))});
      }
      pointers.push_back(input.defined() ? &types.back() : nullptr);
    }
    attributes = node.attributes().evaluate(bindings);
  } catch (const Error&) {
    return;  // a symbol is not bound: there are no concrete sizes
  }
  const DimFacts facts;
  op.infer(InferContext(op.name, pointers, attributes, facts, &node.graph().ops()));
}

// Evaluates the sizes of all values. An unbound symbol is reported with the user's source line.
void evaluate_values(Plan& plan) {
  const CompiledProgram& c = *plan.program;
  plan.values.resize(c.values.size());
  for (const ValueId i : c.values.ids()) {
    const CompiledProgram::ValueUse& use = c.values[i];
    const Node& node = *c.nodes[use.node];
    const ValueType& type = node.type(use.output);
    PlanValue& v = plan.values[i];
    v.dtype = type.dtype;
    v.root = use.root;
    v.source = i;
    try {
      v.sizes = type.shape.evaluate(plan.bindings);
      v.bytes = tensor_bytes(v.dtype, v.sizes);
    } catch (const Error& e) {
      const ShapeError found = with_hint(e, type.shape, plan.bindings);
      try {
        rerun_shape_rule(node, plan.bindings);
      } catch (const Error& own) {
        node.graph().fail(own, node);
      }
      node.graph().fail(found, node);
    }
  }
  bound_total(plan);
}

double estimate_ns(const PlanStep& step) {
  double ns = 0;
  for (const Phase& p : step.kernel.phases) ns += p.cost_ns;
  // Kernels without a cost: assume 10 bytes and 4 FLOPs per nanosecond.
  return ns > 0 ? ns : step.bytes / 10 + step.flops / 4;
}

Cost default_cost(const KernelRequest& request) {
  Cost cost;
  const auto add = [&](const OperandSpec& spec) {
    if (!spec.present) return 0.0;
    const auto n = static_cast<double>(spec.numel());
    cost.bytes += n * static_cast<double>(dtype_size(spec.dtype));
    return n;
  };
  for (const OperandSpec& spec : request.inputs) add(spec);
  for (const OperandSpec& spec : request.outputs) cost.flops += add(spec);
  return cost;
}

// Returns the precision that the node sets. Defaults to the precision of the program, then to that
// of the Session.
Precision precision_of(const Plan& plan, const Attributes& attributes, Precision session) {
  return precision_for(attributes, plan.program->module.program.precision().value_or(session));
}

// Returns the parameter that `value` reads, or an undefined id if `value` does not read a parameter
// or if the program updates it.
VariableId frozen_parameter(const CompiledProgram& c, ValueId value) {
  const ValueId root = c.values[value].root;
  const VariableId variable = c.leaves[c.values[root].node].variable();
  if (!variable.defined()) return {};
  const CompiledProgram::VariableUse& use = c.variables[variable];
  return use.info.kind == VariableKind::parameter && !use.updated ? variable : VariableId();
}

// Returns the input of a loop body that `value` reads, or an undefined id if `value` does not read
// an input or if the input is not the same in all iterations.
InputId constant_input(const CompiledProgram& c, ValueId value, const PlanOptions& options) {
  const CompiledProgram::Leaf leaf = c.leaves[c.values[c.values[value].root].node];
  if (leaf.kind != CompiledProgram::LeafKind::input) return {};
  const InputId input(leaf.index);
  return options.constant_inputs.contains(input) && options.constant_inputs[input] ? input
                                                                                   : InputId();
}

// Throws ShapeError if the scratch of a kernel exceeds the maximum size of a tensor. (Operands have
// been checked already.)
void check_scratch(const Kernel& kernel) {
  for (const std::size_t bytes : {kernel.shared_scratch, kernel.slot_scratch}) {
    if (bytes <= kMaxTensorBytes) continue;
    throw ShapeError(
        "the operands are so large that the kernel's scratch memory exceeds the "
        "addressable 2^47 bytes (128 TiB)");
  }
}

PlanStep make_step(const Plan& plan, NodeId n, const PlanOptions& options) {
  const CompiledProgram& c = *plan.program;
  const Node& node = *c.nodes[n];
  const OpRecord& op = node.op();
  PlanStep step;
  step.node = &node;
  step.inputs = c.node_inputs[n];
  KernelRequest request;
  request.inputs.reserve(step.inputs.size());
  for (const ValueId id : step.inputs) {
    if (!id.defined()) {
      request.inputs.push_back({DType::f32, {}, false});
    } else {
      const PlanValue& v = plan.values[id];
      const bool constant = (options.prepack && frozen_parameter(c, id).defined()) ||
                            constant_input(c, id, options).defined();
      request.inputs.push_back({v.dtype, v.sizes, true, constant});
    }
  }
  for (int o = 0; o < node.output_count(); ++o) {
    const ValueId id = c.first_value[n] + o;
    const PlanValue& v = plan.values[id];
    const bool needed = c.values[id].needed;
    request.outputs.push_back({v.dtype, v.sizes, needed});
    step.outputs.push_back(needed ? id : ValueId());
  }
  try {
    if (op.has_bodies()) {
      plan_control(plan, n, options, step);
      return step;
    }
    if (op.kernel == nullptr) {
      throw GraphError("this op has no kernel; it must be replaced before the program runs");
    }
    request.attributes = node.attributes().evaluate(plan.bindings);
    request.precision = precision_of(plan, request.attributes, options.precision);
    request.batch_invariant =
        options.batch_invariant || plan.program->module.program.is_batch_invariant();
    request.ops = &node.graph().ops();
    step.kernel = make_kernel(op, request);
    check_scratch(step.kernel);
    if (step.kernel.packed) {
      const ValueId packed = step.inputs[step.kernel.packed->input];
      step.packed_variable = frozen_parameter(c, packed);
      step.packed_input = constant_input(c, packed, options);
    }
    const Cost cost = op.cost != nullptr ? op.cost(request) : default_cost(request);
    step.flops = cost.flops;
    step.bytes = cost.bytes;
  } catch (const Error& e) {
    node.graph().fail(e, node);
  }
  step.cost_ns = estimate_ns(step);
  return step;
}

// Adds a step that copies value `from`. Returns the new value.
ValueId add_copy(Plan& plan, ValueId from) {
  const ValueId to = plan.values.end_id();
  PlanValue v = plan.values[from];
  v.root = to;
  v.buffer = {};
  plan.values.push_back(v);
  PlanStep step;
  step.inputs = {from};
  step.outputs = {to};
  step.bytes = 2 * static_cast<double>(v.bytes);
  const auto bytes = static_cast<std::int64_t>(v.bytes);
  const std::int64_t chunks = chunk_count(bytes, 1 << 18);
  step.kernel.phases.push_back({.chunks = chunks,
                                .body =
                                    [bytes, chunks](const KernelRun& run, std::int64_t chunk) {
                                      const ChunkRange r = chunk_range(bytes, chunks, chunk, 64);
                                      if (r.begin == r.end) return;
                                      std::memcpy(run.out<std::byte>(0) + r.begin,
                                                  run.in<std::byte>(0) + r.begin,
                                                  static_cast<std::size_t>(r.end - r.begin));
                                    },
                                .cost_ns = step.bytes / 10});
  step.cost_ns = estimate_ns(step);
  plan.steps.push_back(std::move(step));
  return to;
}

// Returns the index of the output that is the same value as `value`, or -1 if there is no such
// output or if `value` is a leaf.
int same_output(const Plan& plan, ValueId value) {
  const ValueId root = plan.values[value].root;
  if (leaf_of(plan, root).kind != CompiledProgram::LeafKind::none) return -1;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const ValueId output = plan.outputs[i].value;
    if (plan.values[output].root == root) return static_cast<int>(i);
  }
  return -1;
}

// Collects outputs and updates. Updates are applied simultaneously: if the new value of a variable
// is the old value of another updated variable, that value is copied first.
void collect_results(Plan& plan) {
  const CompiledProgram& c = *plan.program;
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    const auto& [name, value] = c.outputs[i];
    const bool streamed = i < c.streamed.size() && c.streamed[i] != 0;
    plan.outputs.push_back({.name = name, .value = value, .streamed = streamed});
  }
  for (const auto& [variable, value] : c.updates) {
    const ValueId root = plan.values[value].root;
    const VariableId read = c.leaves[c.values[root].node].variable();
    if (read == variable) continue;  // the variable keeps its value
    const bool changes = read.defined() && c.variables[read].updated;
    const ValueId source = changes ? add_copy(plan, value) : value;
    PlanUpdate update{variable, source};
    if (plan.loop_body) update.output = same_output(plan, source);
    plan.updates.push_back(update);
  }
}

}  // namespace

std::shared_ptr<const Plan> specialise(std::shared_ptr<const CompiledProgram> program,
                                       const Bindings& bindings, const PlanOptions& options) {
  auto plan = std::make_shared<Plan>();
  plan->program = std::move(program);
  plan->bindings = bindings;
  plan->guard = options.guard;
  plan->updates_last = options.updates_last;
  plan->loop_body = options.loop_body;
  evaluate_values(*plan);
  const CompiledProgram& c = *plan->program;
  plan->steps.reserve(c.nodes.size());
  for (const NodeId n : c.nodes.ids()) {
    const OpRecord& op = c.nodes[n]->op();
    if (op.has(Trait::leaf) || op.has(Trait::alias)) continue;
    plan->steps.push_back(make_step(*plan, n, options));
  }
  collect_results(*plan);
  bound_total(*plan);
  if (options.memory_budget > 0) {
    return meet_memory_budget(std::move(*plan), options.memory_budget);
  }
  lay_out(*plan);
  return plan;
}

}  // namespace weft
