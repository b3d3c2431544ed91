#include "weft/tests/records/session_case.h"

#include <algorithm>
#include <array>

#include "weft/autodiff/gradients.h"
#include "weft/tests/kit/sample_values.h"

namespace weft::testing {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 28;

// A value of the same type made from `x`; x itself where an op does not take its dtype.
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

// What may follow a result: a chain of elementwise ops, perhaps with a reduction at its end.
Value followed(Graph& g, Value x, Draw& draw) {
  Value y = x;
  const auto next = [&](const char* op, std::vector<Value> operands, Attributes attributes = {}) {
    try {
      y = g.apply(op, std::move(operands), std::move(attributes)).output(0);
    } catch (const Error&) {  // not for this dtype
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

// Operands for a second use of the op, some of them in another dtype.
std::vector<Value> in_other_dtypes(Graph& g, std::vector<Value> operands, Draw& draw) {
  const DType to = draw.pick(std::array{DType::f64, DType::f32, DType::i64, DType::i32, DType::u8});
  const bool all = draw.one_in(3);
  for (Value& v : operands) {
    if (!v.defined() || is_floating(v.dtype()) != is_floating(to)) continue;
    if (all || draw.one_in(2)) v = g.apply("cast", {v}, {{"dtype", to}}).output(0);
  }
  return operands;
}

}  // namespace

SessionCase::SessionCase(const OpRecord& op, const OpSample& sample,
                         const Surroundings& surroundings)
    : symbolic_(surroundings.symbolic) {
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
    operands_.push_back(sample.inputs[i].defined() ? operand(i, sample.inputs[i], surroundings)
                                                   : Value());
  }
  std::vector<Value> operands = operands_;
  Draw draw(surroundings.neighbours_seed);
  if (surroundings.neighbours_seed != 0) {
    for (Value& v : operands) {
      if (v.defined()) v = changed_little(graph_, v, draw);
    }
  }
  Node& node = graph_.apply(op, operands, attributes);
  for (int o = 0; o < node.output_count(); ++o) {
    const Value out = node.output(o);
    // A result that only its followers read may be fused with them.
    if (surroundings.neighbours_seed == 0 || draw.one_in(2)) {
      program_.output("out" + std::to_string(o), out);
    }
    if (surroundings.neighbours_seed != 0) {
      program_.output("followed" + std::to_string(o), followed(graph_, out, draw));
    }
  }
  if (surroundings.neighbours_seed != 0 && draw.one_in(2)) {
    try {
      Node& again = graph_.apply(op, in_other_dtypes(graph_, operands, draw), attributes);
      for (int o = 0; o < again.output_count(); ++o) {
        program_.output("again" + std::to_string(o), followed(graph_, again.output(o), draw));
      }
    } catch (const Error&) {  // not for these dtypes
    }
  }
  if (surroundings.gradient_seed != 0) add_gradients(node, surroundings.gradient_seed);
  if (symbolic_ == nullptr) return;
  // Symbols that no operand shows.
  for (const SymbolPtr& s : symbolic_->symbols) {
    const bool shown = std::any_of(operands_.begin(), operands_.end(), [&](const Value& v) {
      return v.defined() && std::any_of(v.shape().begin(), v.shape().end(), [&](const Dim& d) {
               return d.as_symbol() != nullptr && d.as_symbol()->name == s->name;
             });
    });
    if (!shown) dims_.emplace_back(s->name, *symbolic_->values.find(*s));
  }
}

Value SessionCase::operand(std::size_t i, const Tensor& tensor, const Surroundings& surroundings) {
  const std::string name = "in" + std::to_string(i);
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

void SessionCase::add_gradients(Node& node, std::uint64_t seed) {
  Draw draw(seed);
  program_ = Program("gradients");
  std::vector<Value> wrt, outputs;
  for (const Value& v : operands_) {
    const bool known = std::find(wrt.begin(), wrt.end(), v) != wrt.end();
    if (v.defined() && !known && (v.dtype() == DType::f32 || v.dtype() == DType::f64)) {
      wrt.push_back(v);
    }
  }
  for (int o = 0; o < node.output_count(); ++o) {
    const DType dtype = node.output(o).dtype();
    if (dtype == DType::f32 || dtype == DType::f64) outputs.push_back(node.output(o));
  }
  if (wrt.empty() || outputs.empty()) return;
  const Value out = draw.pick(outputs);
  const Value cotangent = graph_.input("cotangent", out.type());
  Sizes sizes;
  if (symbolic_ == nullptr) {
    sizes = out.shape().constant();
  } else {
    Bindings values;
    for (const SymbolPtr& s : graph_.symbols()) {
      for (const auto& [symbol, value] : symbolic_->values.entries()) {
        if (symbol->name == s->name) values.bind(s, value);
      }
    }
    sizes = out.shape().evaluate(values);
  }
  OpSample drawn{{Tensor::zeros(out.dtype(), sizes)}, {}};
  draw_values(node.op(), {}, {}, drawn, draw, Values::tame);
  feeds_.emplace_back("cotangent", drawn.inputs[0]);
  const auto found =
      gradients(out, wrt, {.cotangent = cotangent, .unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < found.size(); ++i) {
    program_.output("gradient" + std::to_string(i), found[i]);
  }
}

Outcome SessionCase::run(const SessionOptions& options, Guard guard) const {
  Outcome outcome = outcome_of([&] {
    const auto store = std::make_shared<VariableStore>();
    for (const auto& [name, tensor] : parameters_) {
      store->insert(name, VariableKind::parameter, guarded_copy(tensor, guard));
    }
    Session session(graph_, store, options);
    NamedTensors feeds;
    for (const auto& [name, tensor] : feeds_) {
      feeds.emplace_back(name, guarded_copy(tensor, guard));
    }
    NamedSizes sizes;
    for (const auto& [name, tensor] : feeds) sizes.emplace_back(name, tensor.sizes());
    RunOptions run{.dims = dims_};
    // Inputs that the program does not need may be fed all the same.
    const auto plan = session.plan(program_, sizes, run);
    std::size_t bytes = plan->arena_bytes;
    for (const PlanOutput& output : plan->outputs) bytes += plan->buffer_of(output.value).bytes;
    if (bytes > kMostBytes) throw StateError("this case is too large to run");
    for (const PlanOutput& output : plan->outputs) {
      const PlanValue& v = plan->values[static_cast<std::size_t>(output.value)];
      run.into.emplace_back(output.name, guarded_empty(v.dtype, v.sizes, guard));
    }
    const Results results = session.run(program_, feeds, run);
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : results) tensors.push_back(tensor.clone());
    return tensors;
  });
  return outcome;
}

std::shared_ptr<const Plan> SessionCase::plan(const SessionOptions& options,
                                              const Bindings* values) const {
  const auto number = [&](const std::string& symbol, std::int64_t usual) {
    if (values == nullptr) return usual;
    for (const auto& [s, value] : values->entries()) {
      if (s->name == symbol) return value;
    }
    return usual;
  };
  Bindings bound;
  if (symbolic_ != nullptr) {
    for (const SymbolPtr& s : graph_.symbols()) {
      for (const auto& [own, value] : symbolic_->values.entries()) {
        if (own->name == s->name) bound.bind(s, number(s->name, value));
      }
    }
  }
  NamedSizes sizes;
  for (const auto& [name, tensor] : feeds_) {
    sizes.emplace_back(name, graph_.find_input(name).shape().evaluate(bound));
  }
  RunOptions run;
  for (const auto& [name, value] : dims_) run.dims.emplace_back(name, number(name, value));
  Session session(graph_, options);
  return session.plan(program_, sizes, run);
}

}  // namespace weft::testing
