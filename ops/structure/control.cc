// Ops that run functions of the graph: calls, loops and branches. Bodies are closed functions:
// everything that a body uses is passed through its operands.
#include <fmt/format.h>

#include "weft/ops/builtin.h"

namespace weft {
namespace {

using Index = std::size_t;
using Types = std::vector<ValueType>;
using Operands = std::vector<const ValueType*>;

Operands operands_of(const InferContext& c, int from) {
  Operands operands;
  for (int i = from; i < c.input_count(); ++i) operands.push_back(c.has(i) ? &c.input(i) : nullptr);
  return operands;
}

bool same_type(const InferContext& c, const ValueType& a, const ValueType& b) {
  return a.dtype == b.dtype && c.equal(a.shape, b.shape);
}

// Returns the number of operands specified by `attribute`, which must be between 0 and `at_most`.
int count_attribute(const InferContext& c, std::string_view attribute, int at_most) {
  const std::int64_t n = c.attributes().integer(attribute);
  if (n < 0 || n > at_most) {
    throw ArgumentError(
        fmt::format("attribute {} is {}, but there are {} operands", attribute, n, at_most));
  }
  return static_cast<int>(n);
}

// Checks that every carry has the same type in every step.
void check_carries(const InferContext& c, const Types& outputs, int carries) {
  if (static_cast<int>(outputs.size()) < carries) {
    throw ArgumentError(
        fmt::format("the body returns {} values, but there are {} carries: it must "
                    "return the new carries first",
                    outputs.size(), carries));
  }
  for (int i = 0; i < carries; ++i) {
    const ValueType& out = outputs[static_cast<Index>(i)];
    if (out.dtype != c.dtype(i)) {
      throw DTypeError(
          fmt::format("carry {} enters the body as {}, but the body returns {}; a carry must keep "
                      "its type: convert it in the body with cast()",
                      i, c.input(i).str(), out.str()));
    }
    if (!c.equal(out.shape, c.shape(i))) {
      throw ShapeError(
          fmt::format("carry {} enters the body as {}, but the body returns {}; a carry must "
                      "keep its type",
                      i, c.input(i).str(), out.str()));
    }
  }
}

Types infer_call(const InferContext& c) { return c.body_outputs("body", operands_of(c, 0)); }

Types infer_scan(const InferContext& c) {
  const int carries = count_attribute(c, "carries", c.input_count());
  const int sequences = count_attribute(c, "sequences", c.input_count() - carries);
  const Dim length = c.attributes().dim("length");
  if (length.is_constant() && length.constant() < 0) {
    throw ShapeError(fmt::format("length must not be negative, but is {}", length.str()));
  }
  Operands operands = operands_of(c, 0);
  Types elements(static_cast<Index>(sequences));
  for (int i = 0; i < sequences; ++i) {
    const int at = carries + i;
    if (c.rank(at) == 0) {
      throw ShapeError(
          fmt::format("sequence {} is the scalar {}; a loop iterates over axis 0 of its "
                      "sequences",
                      i, c.input(at).str()));
    }
    const Dim& size = c.shape(at)[0];
    if (!c.equal(size, length)) {
      throw ShapeError(fmt::format("sequence {} is {} with {} steps, but the loop has {}{}", i,
                                   c.input(at).str(), size.str(), length.str(),
                                   size.is_constant() && length.is_constant()
                                       ? ""
                                       : ", which cannot be proven equal; if they always are, "
                                         "declare this with Graph::require(a == b)"));
    }
    const Shape& shape = c.shape(at);
    elements[static_cast<Index>(i)] = {c.dtype(at),
                                       Shape(std::vector<Dim>(shape.begin() + 1, shape.end()))};
    operands[static_cast<Index>(at)] = &elements[static_cast<Index>(i)];
  }
  Types outputs = c.body_outputs("body", operands);
  check_carries(c, outputs, carries);
  for (Index i = static_cast<Index>(carries); i < outputs.size(); ++i) {
    std::vector<Dim> dims(outputs[i].shape.begin(), outputs[i].shape.end());
    dims.insert(dims.begin(), length);
    outputs[i].shape = Shape(std::move(dims));
  }
  for (int i = 0; i < carries; ++i) outputs[static_cast<Index>(i)] = c.input(i);
  return outputs;
}

void require_bool_scalar(const ValueType& type, std::string_view what) {
  if (type.dtype == DType::boolean && type.shape.rank() == 0) return;
  throw DTypeError(fmt::format("{} must be a bool scalar, but is {}", what, type.str()));
}

Types infer_cond(const InferContext& c) {
  require_bool_scalar(c.input(0), "predicate");
  Types a = c.body_outputs("then", operands_of(c, 1));
  const Types b = c.body_outputs("else", operands_of(c, 1));
  if (a.size() != b.size()) {
    throw ArgumentError(
        fmt::format("one branch returns {} values, but the other returns {}; both must return "
                    "values of the same types",
                    a.size(), b.size()));
  }
  for (Index i = 0; i < a.size(); ++i) {
    if (same_type(c, a[i], b[i])) continue;
    const std::string text = fmt::format(
        "value {} is {} in one branch and {} in the other; both must return values of the same "
        "types",
        i, a[i].str(), b[i].str());
    if (a[i].dtype != b[i].dtype) throw DTypeError(text);
    throw ShapeError(text);
  }
  return a;
}

Types infer_while(const InferContext& c) {
  const int carries = count_attribute(c, "carries", c.input_count());
  if (c.attributes().integer("limit") < 0) {
    throw ArgumentError(
        fmt::format("limit must not be negative, but is {}", c.attributes().integer("limit")));
  }
  const Operands operands = operands_of(c, 0);
  const Types condition = c.body_outputs("condition", operands);
  if (condition.size() != 1) {
    throw ArgumentError(
        fmt::format("the condition returns {} values, but must return one", condition.size()));
  }
  require_bool_scalar(condition[0], "the result of the condition");
  Types outputs = c.body_outputs("body", operands);
  check_carries(c, outputs, carries);
  if (static_cast<int>(outputs.size()) != carries) {
    throw ArgumentError(fmt::format(
        "the body returns {} values, but there are {} carries: a while loop has no other results",
        outputs.size(), carries));
  }
  for (int i = 0; i < carries; ++i) outputs[static_cast<Index>(i)] = c.input(i);
  return outputs;
}

}  // namespace

void ControlOps::add(OpSet& ops) {
  const AttributeSpec stream = {"stream", std::int64_t{0}};

  OpRecord call;
  call.name = "call";
  call.doc =
      "The outputs of the graph function `body`. A pass replaces the call with the body, in "
      "which random stream k becomes stream `stream` + k.";
  call.inputs = {{"args", Arity::variadic}};
  call.attributes = {{"body", std::string(), true}, stream};
  call.bodies = {"body"};
  call.infer = infer_call;
  ops.add(std::move(call));

  OpRecord scan;
  scan.name = "scan";
  scan.doc =
      "A loop of `length` steps over axis 0 of its sequences (backwards if `reverse`). "
      "Operands: `carries` initial values, `sequences` sequences, then values that are the same "
      "in every step. The function `body` accepts the carries, one element of each sequence and "
      "the step-invariant values. It returns the new carries and the values to stack along a "
      "new axis 0. Outputs: the last carries, then the stacked values. With `recompute`, "
      "gradients save only the carries of each step and run the body again.";
  scan.inputs = {{"args", Arity::variadic}};
  scan.attributes = {{"body", std::string(), true},
                     {"carries", std::int64_t{0}, true},
                     {"sequences", std::int64_t{0}, true},
                     {"length", Dim(0), true},
                     {"reverse", false},
                     {"recompute", false},
                     stream};
  scan.bodies = {"body"};
  scan.infer = infer_scan;
  ops.add(std::move(scan));

  OpRecord cond;
  cond.name = "cond";
  cond.doc =
      "The outputs of the function `then` if the predicate is true, otherwise the outputs of "
      "`else`. Only one of the functions runs. Both accept all operands except the predicate.";
  cond.inputs = {{"predicate"}, {"args", Arity::variadic}};
  cond.attributes = {{"then", std::string(), true}, {"else", std::string(), true}, stream};
  cond.bodies = {"then", "else"};
  cond.infer = infer_cond;
  ops.add(std::move(cond));

  OpRecord loop;
  loop.name = "while_loop";
  loop.doc =
      "Runs the function `body` while `condition` returns true, at most `limit` times. "
      "Operands: `carries` initial values, then values that are the same in every step. Both "
      "functions accept all operands; the body returns the new carries. Outputs: the last carries.";
  loop.inputs = {{"args", Arity::variadic}};
  loop.attributes = {{"condition", std::string(), true},
                     {"body", std::string(), true},
                     {"carries", std::int64_t{0}, true},
                     {"limit", std::int64_t{0}, true},
                     stream};
  loop.bodies = {"condition", "body"};
  loop.infer = infer_while;
  ops.add(std::move(loop));
}

}  // namespace weft
