#include "weft/tests/support/cases/session_case.h"

#include <algorithm>
#include <array>
#include <optional>

#include "weft/autodiff/gradients.h"
#include "weft/graph/control/call.h"
#include "weft/tests/support/cases/sample_values.h"
#include "weft/tests/support/odd_floating_point.h"

namespace weft::testing {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 28;

// Returns a value of the same type computed from `x`, or `x` itself if an op does not support the
// dtype of `x`.
Value changed_little(Graph& g, Value x, Draw& draw) {
  const Value before = x;
  const auto unary = [&](const char* op) { return g.apply(op, {x}).output(0); };
  const auto with_scalar = [&](const char* op, double scalar) {
    return g.apply(op, {x, g.scalar(x.dtype(), scalar)}).output(0);
  };
  try {
    switch (draw.below(9)) {
      case 0: x = unary("neg"), x = unary("neg"); break;
      case 1: x = with_scalar("mul", 1); break;
      case 2: x = with_scalar("add", 0); break;
      case 3: x = with_scalar("sub", 0); break;
      case 4: x = unary("optimization_barrier"); break;
      case 5: x = unary("logical_not"), x = unary("logical_not"); break;
      case 6: {
        const DType through = draw.pick(std::array{DType::f64, DType::i64, DType::f32});
        const DType own = x.dtype();
        if (is_floating(own) && through == DType::i64) break;
        x = g.apply("cast", {x}, {{"dtype", through}}).output(0);
        x = g.apply("cast", {x}, {{"dtype", own}}).output(0);
        break;
      }
      case 7: {
        if (x.shape().rank() < 2) break;
        std::vector<std::int64_t> order;
        for (int i = x.shape().rank(); i-- > 0;) order.push_back(i);
        for (int i = 0; i < 2; ++i) x = g.apply("permute", {x}, {{"order", order}}).output(0);
        break;
      }
      default: break;
    }
  } catch (const Error&) {
    return before;
  }
  return x;
}

// Adds nodes that use a result: a chain of elementwise ops, sometimes followed by a reduction.
Value followed(Graph& g, Value x, Draw& draw) {
  Value y = x;
  const auto next = [&](const char* op, std::vector<Value> operands, Attributes attributes = {}) {
    try {
      y = g.apply(op, std::move(operands), std::move(attributes)).output(0);
    } catch (const Error&) {  // unsupported dtype
    }
  };
  static constexpr const char* kUnary[] = {"neg", "abs", "relu", "exp", "sigmoid", "logical_not"};
  static constexpr const char* kBinary[] = {"add", "mul", "maximum", "sub", "less"};
  for (std::int64_t i = draw.below(4); i-- > 0;) next(draw.pick(kUnary), {y});
  if (draw.one_in(2)) next(draw.pick(kBinary), {y, x});
  if (draw.one_in(2)) next("abs", {y});
  if (y.shape().rank() > 0 && draw.one_in(2)) {
    static constexpr const char* kReductions[] = {"sum", "mean", "max", "min"};
    std::vector<std::int64_t> axes = {y.shape().rank() - 1};
    if (y.shape().rank() > 1 && draw.one_in(3)) axes.insert(axes.begin(), axes[0] - 1);
    next(draw.pick(kReductions), {y}, {{"axes", axes}, {"keepdims", draw.one_in(2)}});
  }
  return y;
}

// Returns operands for a second call of the op, some of them converted to another dtype.
std::vector<Value> in_other_dtypes(Graph& g, std::vector<Value> operands, Draw& draw) {
  const DType to = draw.pick(std::array{DType::f64, DType::f32, DType::i64, DType::i32, DType::u8});
  const bool all = draw.one_in(3);
  for (Value& v : operands) {
    if (!v.defined() || is_floating(v.dtype()) != is_floating(to)) continue;
    if (all || draw.one_in(2)) v = g.apply("cast", {v}, {{"dtype", to}}).output(0);
  }
  return operands;
}

Tensor small_numbers(DType dtype, const Sizes& sizes, Draw& draw) {
  return Tensor::full(dtype, sizes, static_cast<double>(draw.below(3)));
}

}  // namespace

std::vector<Role> draw_roles(const OpSample& sample, Draw& draw) {
  constexpr std::array kRoles = {Role::fed, Role::fed, Role::parameter, Role::parameter,
                                 Role::constant};
  std::vector<Role> roles(sample.inputs.size(), draw.pick(kRoles));
  if (draw.one_in(3)) return roles;
  for (Role& role : roles) role = draw.pick(kRoles);
  return roles;
}

SessionCase::SessionCase(const OpRecord& op, const OpSample& sample,
                         const Surroundings& surroundings)
    : graph_(surroundings.ops), symbolic_(surroundings.symbolic) {
  const auto own = [&](const SymbolPtr& s) -> std::optional<Dim> { return graph_.dim(s->name); };
  Attributes attributes = sample.attributes;
  if (symbolic_ != nullptr) {
    attributes = symbolic_->attributes.substitute(own);
    for (const DimEquation& e : symbolic_->requirements) {
      graph_.require(e.left.substitute(own) == e.right.substitute(own));
    }
    for (const SymbolPtr& s : symbolic_->symbols) graph_.dim(s->name);
  }
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    operands_.push_back(sample.inputs[i].defined() ? operand(i, sample, surroundings) : Value());
  }
  std::vector<Value> operands = operands_;
  Draw draw(surroundings.neighbours_seed);
  const bool neighbours = surroundings.neighbours_seed != 0;
  if (neighbours) {
    for (Value& v : operands) {
      if (v.defined()) v = changed_little(graph_, v, draw);
    }
  }
  const bool in_function = neighbours && symbolic_ == nullptr && draw.one_in(4);
  const std::vector<Value> results = apply(op, operands, attributes, in_function);
  for (std::size_t o = 0; o < results.size(); ++o) {
    // A result that is used only by the following nodes may be fused with them.
    if (!neighbours || draw.one_in(2)) {
      program_.output("out" + std::to_string(o), results[o]);
    }
    if (neighbours) {
      program_.output("followed" + std::to_string(o), followed(graph_, results[o], draw));
    }
  }
  if (neighbours && draw.one_in(2)) {
    try {
      const bool same = in_function && draw.one_in(2);
      const std::vector<Value> again =
          apply(op, same ? operands : in_other_dtypes(graph_, operands, draw), attributes, same);
      for (std::size_t o = 0; o < again.size(); ++o) {
        program_.output("again" + std::to_string(o), followed(graph_, again[o], draw));
      }
    } catch (const Error&) {  // unsupported dtypes
    }
  }
  if (neighbours) add_updates(results, draw);
  if (surroundings.gradient_seed != 0) add_gradients(op, results, surroundings.gradient_seed);
  if (symbolic_ == nullptr) return;
  // Pass the values of symbols that no operand determines.
  for (const SymbolPtr& s : symbolic_->symbols) {
    const bool shown = std::any_of(operands_.begin(), operands_.end(), [&](const Value& v) {
      return v.defined() && std::any_of(v.shape().begin(), v.shape().end(), [&](const Dim& d) {
               return d.as_symbol() != nullptr && d.as_symbol()->name == s->name;
             });
    });
    if (!shown) dims_.emplace_back(s->name, *symbolic_->values.find(*s));
  }
}

// A tensor that is used for two operands is a single value.
Value SessionCase::operand(std::size_t i, const OpSample& sample,
                           const Surroundings& surroundings) {
  const Tensor& tensor = sample.inputs[i];
  const std::string name = "in" + std::to_string(i);
  for (std::size_t j = 0; symbolic_ == nullptr && j < i; ++j) {
    const Tensor& other = sample.inputs[j];
    if (other.defined() && tensor.bytes() > 0 && other.raw() == tensor.raw()) return operands_[j];
  }
  const Role role = surroundings.roles.empty() ? Role::fed : surroundings.roles[i];
  if (role == Role::constant) return graph_.constant(tensor);
  if (role == Role::parameter) {
    parameters_.emplace_back(name, tensor);
    return graph_.variable(name, {tensor.dtype(), Shape(tensor.sizes())}, {.trainable = false})
        .value();
  }
  feeds_.emplace_back(name, tensor);
  Shape shape(tensor.sizes());
  if (symbolic_ != nullptr) {
    shape = symbolic_->inputs[i].shape.substitute(
        [&](const SymbolPtr& s) -> std::optional<Dim> { return graph_.dim(s->name); });
  }
  return graph_.input(name, {tensor.dtype(), shape});
}

// Applies the op directly, or inside a function that is called.
std::vector<Value> SessionCase::apply(const OpRecord& op, const std::vector<Value>& operands,
                                      const Attributes& attributes, bool in_function) {
  if (!in_function) {
    Node& node = graph_.apply(op, operands, attributes);
    std::vector<Value> results;
    for (int o = 0; o < node.output_count(); ++o) results.push_back(node.output(o));
    return results;
  }
  std::vector<FormalInput> formal;
  std::vector<Value> given;
  for (const Value& v : operands) {
    if (!v.defined()) continue;
    const Sizes sizes = v.shape().constant();
    formal.push_back({"x" + std::to_string(given.size()), v.dtype(), {sizes.begin(), sizes.end()}});
    given.push_back(v);
  }
  const auto build = [&](Graph& body, const std::vector<Value>& inputs) {
    std::vector<Value> inner;
    std::size_t next = 0;
    for (const Value& v : operands) inner.push_back(v.defined() ? inputs[next++] : Value());
    Node& node = body.apply(op, inner, attributes);
    std::vector<Value> results;
    for (int o = 0; o < node.output_count(); ++o) results.push_back(node.output(o));
    return results;
  };
  if (graph_.functions().empty()) define_function(graph_, "f", formal, build);
  return call(graph_, "f", given);
}

// Uses results as the new values of parameters with the same type.
void SessionCase::add_updates(const std::vector<Value>& results, Draw& draw) {
  for (const auto& [name, tensor] : parameters_) {
    const Variable variable = graph_.find_variable(name);
    for (const Value& result : results) {
      if (result.type() == ValueType{tensor.dtype(), Shape(tensor.sizes())} && draw.one_in(2)) {
        program_.update(variable, result);
        break;
      }
    }
  }
}

void SessionCase::add_gradients(const OpRecord& op, const std::vector<Value>& results,
                                std::uint64_t seed) {
  Draw draw(seed);
  program_ = Program("gradients");
  std::vector<Value> wrt, outputs;
  for (const Value& v : operands_) {
    const bool known = std::find(wrt.begin(), wrt.end(), v) != wrt.end();
    if (v.defined() && !known && (v.dtype() == DType::f32 || v.dtype() == DType::f64)) {
      wrt.push_back(v);
    }
  }
  for (const Value& v : results) {
    if (v.dtype() == DType::f32 || v.dtype() == DType::f64) outputs.push_back(v);
  }
  if (wrt.empty() || outputs.empty()) return;
  const Value out = draw.pick(outputs);
  const Value cotangent = graph_.input("cotangent", out.type());
  const Sizes sizes = out.shape().evaluate(bindings({}));
  OpSample drawn{{Tensor::zeros(out.dtype(), sizes)}, {}};
  draw_values(op, {}, {}, drawn, draw, Values::tame);
  feeds_.emplace_back("cotangent", drawn.inputs[0]);
  const auto found =
      gradients(out, wrt, {.cotangent = cotangent, .unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < found.size(); ++i) {
    program_.output("gradient" + std::to_string(i), found[i]);
  }
}

RunOutcome SessionCase::run(const SessionOptions& options, const RunVariant& way) const {
  return outcome_of([&] {
    const auto store = std::make_shared<VariableStore>();
    for (const auto& [name, tensor] : parameters_) {
      store->insert(name, VariableKind::parameter, guarded_copy(tensor, way.guard));
    }
    Session session(graph_, store, options);
    if (way.earlier_runs_seed != 0) {
      Draw draw(way.earlier_runs_seed);
      for (std::int64_t i = 1 + draw.below(3); i > 0; --i) run_otherwise(session, draw);
      for (const auto& [name, tensor] : parameters_) session.set_value(name, tensor);
    }
    std::optional<OddFloatingPoint> environment;
    if (way.odd_floating_point) environment.emplace();
    return run_once(session, way);
  });
}

std::vector<Tensor> SessionCase::run_once(Session& session, const RunVariant& way) const {
  NamedTensors feeds;
  for (const auto& [name, tensor] : feeds_) {
    feeds.emplace_back(name, guarded_copy(tensor, way.guard));
  }
  RunOptions run{.dims = dims_};
  // Inputs that the program does not need may also be fed.
  const auto plan = session.plan(program_, sizes_of(feeds), run);
  std::size_t bytes = plan->arena_bytes;
  for (const PlanOutput& output : plan->outputs) bytes += plan->buffer_of(output.value).bytes;
  if (bytes > kMaxBytes) throw StateError("this case is too large to run");
  for (const PlanOutput& output : plan->outputs) {
    if (way.own_outputs) break;
    const PlanValue& v = plan->values[output.value];
    run.into.emplace_back(output.name, guarded_empty(v.dtype, v.sizes, way.guard));
  }
  const Results results = session.run(program_, feeds, run);
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : results) tensors.push_back(tensor.clone());
  for (const auto& [variable, value] : program_.given_updates()) {
    tensors.push_back(session.value(variable.info().name));
  }
  return tensors;
}

// Runs the program with different elements and, for symbolic sizes, also with different sizes. This
// run may fail.
void SessionCase::run_otherwise(Session& session, Draw& draw) const {
  try {
    for (const auto& [name, tensor] : parameters_) {
      session.set_value(name, small_numbers(tensor.dtype(), tensor.sizes(), draw));
    }
    Bindings other;
    for (const SymbolPtr& s : graph_.symbols()) {
      if (draw.one_in(2)) other.bind(s, draw.below(6));
    }
    const Bindings bound = bindings(other);
    const NamedSizes sizes = sizes_of_inputs(bound);
    const RunOptions run{.dims = dims(bound)};
    const auto plan = session.plan(program_, sizes, run);
    std::size_t bytes = plan->arena_bytes;
    for (const PlanOutput& output : plan->outputs) bytes += plan->buffer_of(output.value).bytes;
    if (bytes > kMaxBytes) return;
    NamedTensors feeds;
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
      const DType dtype = feeds_[i].second.dtype();
      feeds.emplace_back(sizes[i].first, small_numbers(dtype, sizes[i].second, draw));
    }
    session.run(program_, feeds, run);
  } catch (const Error&) {  // expected
  }
}

// Binds each symbol of the graph to the size with the same name in `other`, or else to its size in
// the sample.
Bindings SessionCase::bindings(const Bindings& other) const {
  Bindings bound;
  if (symbolic_ == nullptr) return bound;
  const auto find = [](const Bindings& values, const std::string& name) {
    std::optional<std::int64_t> found;
    for (const auto& [s, value] : values.entries()) {
      if (s->name == name) found = value;
    }
    return found;
  };
  for (const SymbolPtr& s : graph_.symbols()) {
    const auto usual = find(symbolic_->values, s->name);
    if (usual) bound.bind(s, find(other, s->name).value_or(*usual));
  }
  return bound;
}

NamedSizes SessionCase::sizes_of_inputs(const Bindings& bound) const {
  NamedSizes sizes;
  for (const auto& [name, tensor] : feeds_) {
    sizes.emplace_back(name, graph_.find_input(name).shape().evaluate(bound));
  }
  return sizes;
}

DimValues SessionCase::dims(const Bindings& bound) const {
  DimValues values = dims_;
  for (auto& [name, value] : values) {
    for (const auto& [s, size] : bound.entries()) {
      if (s->name == name) value = size;
    }
  }
  return values;
}

std::shared_ptr<const Plan> SessionCase::plan(const SessionOptions& options,
                                              const Bindings* values) const {
  const Bindings bound = bindings(values != nullptr ? *values : Bindings());
  Session session(graph_, options);
  return session.plan(program_, sizes_of_inputs(bound), {.dims = dims(bound)});
}

}  // namespace weft::testing
