// Simplification: removes operations that have no effect.
//
// Every rule is bit-exact, including signed zeros, except for the sign and payload of a NaN:
// - x + (-0.0) is x, but x + 0.0 is not (-0.0 + 0.0 = 0.0); x - 0.0 is x, but x - (-0.0) is not;
// - x * 1 and x / 1 are x; x * 0 is unchanged, because inf * 0 is NaN;
// - neg(neg(x)), x + neg(y), x - neg(y), neg(x) * neg(y): signs are exact in IEEE arithmetic, and
//   integers wrap around; abs(neg(x)) if the dtype is signed;
// - lossless casts to another dtype and back; reshapes, permutations and broadcasts that can be
//   combined or have no effect; slices, pads, flips and concats that have no effect; broadcasts
//   that the consuming op performs implicitly;
// - a swap of the last two axes before matmul becomes its transpose flag; a cast from bf16 or f16
//   before matmul is dropped, because matmul widens narrow operands while it reads them (its
//   kernels for narrow operands may add the same terms in a different order, for example if there
//   are few rows); the same for grouped_matmul;
// - with_update, if the program that is being optimised contains the update, or if the new value
//   can be dropped.
// A rule applies only if the replacement has exactly the type of the node. It drops only nodes that
// cannot reject data, so that a run throws the same error with and without passes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "weft/core/error.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

// Maximum number of elements of a constant that is checked for uniformity.
constexpr std::int64_t kUniformLimit = 1024;

struct Match {
  const Node& node;                  // op and attributes
  const std::vector<Value>& inputs;  // values of the target
  Graph& target;

  std::string_view op() const { return node.op().name; }
  Value input(std::size_t i) const { return i < inputs.size() ? inputs[i] : Value(); }
  // Applies an op. Returns an undefined value, so that the rule does not apply, if the op rejects
  // the operands: shapes may be provably equal op by op but not for the combined op.
  Value apply(std::string_view name, std::vector<Value> operands,
              Attributes attributes = {}) const {
    try {
      return target.apply(name, std::move(operands), std::move(attributes), SourceLocation{})
          .output(0);
    } catch (const Error&) {
      return {};
    }
  }
};

bool is_any(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// Returns the value of a constant whose elements are all equal (compared bitwise); otherwise
// nullopt.
std::optional<double> uniform(Value v) {
  while (is(v, "broadcast_to") || is(v, "reshape")) v = v.node().input(0);
  if (!is(v, "constant")) return std::nullopt;
  const Tensor& t = v.node().attributes().tensor("value");
  if (t.numel() == 0 || t.numel() > kUniformLimit) return std::nullopt;
  const std::size_t size = dtype_size(t.dtype());
  for (std::int64_t i = 1; i < t.numel(); ++i) {
    if (!std::equal(t.raw(), t.raw() + size, t.raw() + static_cast<std::size_t>(i) * size)) {
      return std::nullopt;
    }
  }
  return t.at(0);
}

// Returns true if all elements of `v` are `wanted`, including the sign of zero (integers have one
// zero).
bool is_number(const Value& v, double wanted) {
  const std::optional<double> value = uniform(v);
  if (!value || *value != wanted) return false;
  return !is_floating(v.dtype()) || std::signbit(*value) == std::signbit(wanted);
}

bool is_zero_to_add(const Value& v) { return is_number(v, is_floating(v.dtype()) ? -0.0 : 0.0); }

Value simplify_arithmetic(const Match& m) {
  const Value a = m.input(0), b = m.input(1);
  const auto neg_of = [](const Value& v) { return is(v, "neg") ? v.node().input(0) : Value(); };
  if (m.op() == "neg") return neg_of(a);
  if (m.op() == "add") {
    if (is_zero_to_add(b)) return a;
    if (is_zero_to_add(a)) return b;
    if (const Value y = neg_of(b); y.defined()) return m.apply("sub", {a, y});
    if (const Value y = neg_of(a); y.defined()) return m.apply("sub", {b, y});
  }
  if (m.op() == "sub") {
    if (is_number(b, 0.0)) return a;
    if (const Value y = neg_of(b); y.defined()) return m.apply("add", {a, y});
  }
  if (m.op() == "mul") {
    if (is_number(b, 1)) return a;
    if (is_number(a, 1)) return b;
  }
  if (m.op() == "div" && is_number(b, 1)) return a;
  if (m.op() == "mul" || m.op() == "div") {
    const Value x = neg_of(a), y = neg_of(b);
    // Floating-point only: for integers, x / y may overflow although neg(x) / neg(y) does not.
    if (x.defined() && y.defined() && is_floating(a.dtype())) return m.apply(m.op(), {x, y});
  }
  return {};
}

// Returns true if `v` can be dropped: it is computed by a small number of nodes, none of which
// checks data (indices, integer divisors and exponents) or draws random numbers.
bool can_be_dropped(const Value& v) {
  constexpr std::size_t kMaxNodes = 64;
  std::vector<const Node*> open = {&v.node()};
  std::unordered_set<const Node*> seen = {&v.node()};
  while (!open.empty()) {
    const Node& node = *open.back();
    const OpRecord& op = node.op();
    open.pop_back();
    if (op.has(Trait::leaf)) continue;
    if (!op.has(Trait::alias) && !op.has(Trait::elementwise)) return false;
    if (op.has(Trait::random) || op.has(Trait::opaque)) return false;
    if (may_reject_data(node)) return false;
    for (const Value& input : node.inputs()) {
      if (input.defined() && seen.insert(&input.node()).second) open.push_back(&input.node());
    }
    if (seen.size() > kMaxNodes) return false;
  }
  return true;
}

Value simplify_idempotent(const Match& m) {
  const Value a = m.input(0), b = m.input(1);
  if (is_any(m.op(), {"abs", "relu", "floor", "ceil", "round", "sign"}) && is(a, m.op())) return a;
  // For u8, -x wraps around to 2^8 - x, and abs does not undo this.
  if (m.op() == "abs" && is(a, "neg") && a.dtype() != DType::u8) {
    return m.apply("abs", {a.node().input(0)});
  }
  if (m.op() == "logical_not" && is(a, "logical_not")) return a.node().input(0);
  if (is_any(m.op(), {"maximum", "minimum", "logical_and", "logical_or"}) && a == b) return a;
  if (m.op() == "where") {
    const Value x = m.input(1), y = m.input(2);
    if (x == y && can_be_dropped(a)) return x;
    if (is_number(a, 1) && can_be_dropped(y)) return x;
    if (is_number(a, 0) && can_be_dropped(x)) return y;
  }
  return {};
}

// Returns true if `through` can represent every value of `from`, so that a cast to `through` and
// back is exact.
bool holds_all(DType from, DType through) {
  const auto bits = [](DType d) {  // bits of the integers that the dtype represents exactly
    switch (d) {
      case DType::boolean: return 1;
      case DType::u8:
      case DType::i8: return 8;
      case DType::i32: return 32;
      case DType::i64: return 64;
      case DType::bf16: return 8;
      case DType::f16: return 11;
      case DType::f32: return 24;
      case DType::f64: return 53;
    }
    return 0;
  };
  if (from == DType::boolean) return true;
  if (is_integer(from)) {
    if (is_integer(through)) {
      if (from == DType::u8 || through == DType::u8)
        return bits(through) > bits(from) && through != DType::u8;
      return bits(through) >= bits(from);
    }
    return is_floating(through) && bits(through) >= bits(from);
  }
  if (through == DType::f64) return true;
  return through == DType::f32 && from != DType::f64;
}

Value simplify_cast(const Match& m) {
  if (m.op() != "cast") return {};
  const Value a = m.input(0);
  const DType to = m.node.attributes().dtype("dtype");
  if (a.dtype() == to) return a;
  if (is(a, "cast")) {
    const Value x = a.node().input(0);
    if (x.dtype() == to && holds_all(to, a.dtype())) return x;
  }
  return {};
}

bool all_zero(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d == Dim(0); });
}

Value simplify_movement(const Match& m) {
  const Value a = m.input(0);
  const Attributes& attributes = m.node.attributes();
  if (m.op() == "reshape" || m.op() == "broadcast_to") {
    if (a.shape() == attributes.shape("shape")) return a;
    if (is(a, m.op())) return m.apply(m.op(), {a.node().input(0)}, attributes);
  }
  if (m.op() == "permute") {
    const auto& order = attributes.integers("order");
    if (is(a, "permute")) {
      const auto& first = a.node().attributes().integers("order");
      std::vector<std::int64_t> both;
      for (const std::int64_t axis : order) both.push_back(first[static_cast<std::size_t>(axis)]);
      return m.apply("permute", {a.node().input(0)}, {{"order", both}});
    }
    if (std::is_sorted(order.begin(), order.end())) return a;
  }
  if (m.op() == "slice") {
    const auto& steps = attributes.integers("steps");
    if (all_zero(attributes.shape("starts")) && attributes.shape("sizes") == a.shape() &&
        std::all_of(steps.begin(), steps.end(), [](std::int64_t s) { return s == 1; })) {
      return a;
    }
  }
  if (m.op() == "pad" && all_zero(attributes.shape("before")) &&
      all_zero(attributes.shape("after"))) {
    return a;
  }
  if (m.op() == "flip") {
    const auto& axes = attributes.integers("axes");
    if (axes.empty()) return a;
    if (is(a, "flip") && a.node().attributes().integers("axes") == axes) return a.node().input(0);
  }
  if (m.op() == "concat" && m.inputs.size() == 1) return a;
  return {};
}

bool swaps_last_two(const Value& v) {
  if (!is(v, "permute")) return false;
  std::vector<std::int64_t> order = v.node().attributes().integers("order");
  if (order.size() < 2) return false;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

// Returns the node with operand `i` replaced, or an undefined value if the op's shape rule then
// infers a different type.
Value with_operand(const Match& m, std::size_t i, const Value& operand) {
  std::vector<Value> operands = m.inputs;
  operands[i] = operand;
  std::vector<const ValueType*> types(operands.size(), nullptr);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].defined()) types[k] = &operands[k].type();
  }
  try {
    const auto inferred = m.node.op().infer(InferContext(
        m.op(), std::move(types), m.node.attributes(), m.target.facts(), &m.target.ops()));
    if (inferred.size() != 1 || !(inferred[0] == m.node.type(0))) return {};
  } catch (const Error&) {
    return {};
  }
  return m.target
      .apply(m.node.op(), std::move(operands), m.node.attributes(), SourceLocation{},
             m.node.instance())
      .output(0);
}

// Returns true for a cast from bf16 or f16 to f32 or f64.
bool widens(const Value& v) {
  if (!is(v, "cast")) return false;
  const DType from = v.node().input(0).dtype();
  return (from == DType::bf16 || from == DType::f16) &&
         (v.dtype() == DType::f32 || v.dtype() == DType::f64);
}

Value simplify_operands(const Match& m) {
  if (m.op() == "matmul") {
    const Value a = m.input(0), b = m.input(1);
    Attributes flags = m.node.attributes();
    if (swaps_last_two(a)) {
      flags.set("transpose_a", !flags.flag("transpose_a"));
      return m.apply("matmul", {a.node().input(0), b}, flags);
    }
    if (swaps_last_two(b)) {
      flags.set("transpose_b", !flags.flag("transpose_b"));
      return m.apply("matmul", {a, b.node().input(0)}, flags);
    }
  }
  if (m.op() == "grouped_matmul" && swaps_last_two(m.input(1))) {
    Attributes flags = m.node.attributes();
    flags.set("transpose_w", !flags.flag("transpose_w"));
    return m.apply("grouped_matmul", {m.input(0), m.input(1).node().input(0), m.input(2)}, flags);
  }
  if (m.op() == "matmul" || m.op() == "grouped_matmul" || m.op() == "grouped_outer") {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!widens(m.inputs[i])) continue;
      const Value v = with_operand(m, i, m.inputs[i].node().input(0));
      if (v.defined()) return v;
    }
  }
  if (!m.node.op().has(Trait::elementwise) || m.node.op().has(Trait::random)) return {};
  if (m.inputs.size() < 2) return {};
  for (std::size_t i = 0; i < m.inputs.size(); ++i) {
    if (!is(m.inputs[i], "broadcast_to")) continue;
    const Value v = with_operand(m, i, m.inputs[i].node().input(0));
    if (v.defined()) return v;
  }
  return {};
}

// Replaces with_update(x, ...) with x if the program computes the new value anyway, or if the new
// value can be dropped.
Value simplify_with_update(const Node& node, const std::vector<Value>& inputs,
                           const std::unordered_set<Value, ValueHash>& roots) {
  if (node.op().name != "with_update" || !can_be_dropped(inputs[1])) return {};
  return roots.count(node.input(2)) != 0 || can_be_dropped(inputs[2]) ? inputs[0] : Value();
}

Value simplify_once(const Match& m) {
  // Rematerialised copies exist to save memory, and opaque ops must not be changed.
  if (m.node.instance() != 0 || m.node.op().has(Trait::opaque) || m.node.output_count() != 1) {
    return {};
  }
  for (const auto rule : {simplify_arithmetic, simplify_idempotent, simplify_cast,
                          simplify_movement, simplify_operands}) {
    const Value v = rule(m);
    if (v.defined() && v.type() == m.node.type(0)) return v;
  }
  return {};
}

}  // namespace

Module simplify(Module module, const PassOptions& pass) {
  CloneOptions options;
  options.steps = pass.steps;
  const std::vector<Value> all = module.program.roots();
  const std::unordered_set<Value, ValueHash> roots(all.begin(), all.end());
  options.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    Value value = simplify_with_update(node, inputs, roots);
    if (!value.defined()) value = simplify_once({node, inputs, target});
    if (!value.defined()) return std::vector<Value>();
    // A rule may make another rule applicable. The loop terminates because every rule shortens the
    // expression or permanently removes a sign or a transpose.
    while (!value.node().op().has(Trait::leaf)) {
      const std::vector<Value> operands = value.node().inputs();
      const Value next =
          value.output() == 0 ? simplify_once({value.node(), operands, target}) : Value();
      if (!next.defined() || next == value) break;
      value = next;
      pass.count(1);
    }
    return std::vector<Value>{value};
  };
  return clone_program(module.program, options);
}

}  // namespace weft
