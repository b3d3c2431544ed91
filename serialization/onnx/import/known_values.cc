#include "weft/serialization/onnx/import/known_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "weft/core/error.h"

namespace weft::onnx {
namespace {

using Dims = std::vector<Dim>;

// Shapes have few elements. Values with more elements are not analysed.
constexpr std::int64_t kMaxDims = 4096;

bool is_symbolic_attribute(const Attribute& value) {
  if (const Dim* d = std::get_if<Dim>(&value)) return !d->is_constant();
  if (const Shape* s = std::get_if<Shape>(&value)) return !s->is_constant();
  return false;
}

bool has_symbolic_attributes(const Node& node) {
  return std::any_of(node.attributes().begin(), node.attributes().end(),
                     [](const auto& entry) { return is_symbolic_attribute(entry.second); });
}

bool can_evaluate(const OpRecord& op) {
  return !op.has(Trait::leaf) && !op.has(Trait::random) && !op.has(Trait::collective) &&
         !op.has_bodies() && (op.kernel != nullptr || op.has(Trait::alias));
}

// Visits the nodes that `root` depends on, operands first, without recursion. `known` returns true
// for a node that needs no visit.
template <class Known, class Visit>
void visit_operands_first(const Node& root, Known known, Visit visit) {
  std::vector<std::pair<const Node*, bool>> stack = {{&root, false}};
  while (!stack.empty()) {
    const auto [node, operands_done] = stack.back();
    stack.pop_back();
    if (known(*node)) continue;
    if (operands_done) {
      visit(*node);
      continue;
    }
    stack.emplace_back(node, true);
    for (const Value& operand : node->inputs())
      if (operand.defined() && !known(operand.node())) stack.emplace_back(&operand.node(), false);
  }
}

std::optional<Dims> dims_of(const Tensor& tensor) {
  if (tensor.numel() > kMaxDims) return std::nullopt;
  Dims dims;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    if (tensor.dtype() == DType::i64) {
      dims.emplace_back(tensor.data<std::int64_t>()[i]);
      continue;
    }
    const double x = tensor.at(i);
    if (std::trunc(x) != x || std::abs(x) > 9e15) return std::nullopt;
    dims.emplace_back(static_cast<std::int64_t>(x));
  }
  return dims;
}

// Returns i64 tensors with the consecutive numbers `begin`, `begin` + 1, ...
Tensor numbers_from(std::int64_t begin, const Sizes& sizes) {
  Tensor t = Tensor::empty(DType::i64, sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i) t.mutable_data<std::int64_t>()[i] = begin + i;
  return t;
}

std::optional<Dim> quotient(const Dim& a, const Dim& b, bool is_float) {
  if (const auto exact =
          b.is_constant() && b.constant() == 0 ? std::nullopt : Dim::try_exact_div(a, b))
    return exact;
  // Integer division truncates; it equals the floor if nothing is negative.
  if (is_float || !Dim::provably_le(1, b) || !Dim::provably_le(0, a)) return std::nullopt;
  return floor_div(a, b);
}

std::optional<Dim> is_equal(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  if (Dim::provably_le(a + 1, b) || Dim::provably_le(b + 1, a)) return Dim(0);
  return std::nullopt;
}

std::optional<Dim> is_less(const Dim& a, const Dim& b) {
  if (Dim::provably_le(a + 1, b)) return Dim(1);
  if (Dim::provably_le(b, a)) return Dim(0);
  return std::nullopt;
}

std::optional<Dim> inverted(const std::optional<Dim>& x) {
  return x ? std::optional<Dim>(Dim(1) - *x) : std::nullopt;
}

std::optional<Dim> binary(std::string_view op, const Dim& a, const Dim& b, bool is_float) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul" || op == "logical_and") return a * b;
  if (op == "div") return quotient(a, b, is_float);
  if (op == "maximum" || op == "logical_or") return max(a, b);
  if (op == "minimum") return min(a, b);
  if (op == "equal") return is_equal(a, b);
  if (op == "not_equal") return inverted(is_equal(a, b));
  if (op == "less") return is_less(a, b);
  if (op == "greater") return is_less(b, a);
  if (op == "less_equal") return inverted(is_less(b, a));
  if (op == "greater_equal") return inverted(is_less(a, b));
  return std::nullopt;
}

std::string_view binary_of_reduction(std::string_view op) {
  if (op == "sum") return "add";
  if (op == "prod") return "mul";
  if (op == "max") return "maximum";
  return op == "min" ? "minimum" : "";
}

bool moves_elements(std::string_view op) {
  constexpr std::string_view kOps[] = {"reshape", "permute", "broadcast_to",    "concat",
                                       "flip",    "slice",   "take_along_axis", "take"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

bool keeps_integers(std::string_view op) {
  constexpr std::string_view kOps[] = {"cast", "floor", "ceil", "round", "stop_gradient"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace

KnownValues::KnownValues(std::function<Tensor(Value)> leaf, std::uint64_t max_bytes)
    : leaf_(std::move(leaf)), max_bytes_(max_bytes), left_(max_bytes) {}

std::optional<Tensor> KnownValues::evaluated(Value value) {
  visit_operands_first(
      value.node(), [&](const Node& node) { return tensors_.count(&node) != 0; },
      [&](const Node& node) { tensors_.emplace(&node, evaluate(node)); });
  const Results& results = tensors_.at(&value.node());
  if (!results) return std::nullopt;
  return (*results)[static_cast<std::size_t>(value.output())];
}

std::optional<Tensor> KnownValues::tensor(Value value) {
  std::optional<Tensor> known = evaluated(value);
  if (known || value.output() != 0 || !value.shape().is_constant()) return known;
  // The size of axis 1 of [batch, 4] is a number, although the node that computes it reads symbols.
  const std::optional<Dims> dims = this->dims(value);
  if (!dims ||
      !std::all_of(dims->begin(), dims->end(), [](const Dim& d) { return d.is_constant(); }))
    return std::nullopt;
  Tensor numbers = Tensor::empty(DType::i64, value.shape().constant());
  for (std::size_t i = 0; i < dims->size(); ++i)
    numbers.mutable_data<std::int64_t>()[i] = (*dims)[i].constant();
  return numbers.to(value.dtype());
}

KnownValues::Results KnownValues::evaluate(const Node& node) {
  const OpRecord& op = node.op();
  if (op.name == "constant") return Results({node.attributes().tensor("value")});
  if (op.has(Trait::leaf)) {
    // Node::output() is not const; the value is only passed on.
    const Tensor tensor = leaf_(const_cast<Node&>(node).output(0));
    return tensor.defined() ? Results({tensor}) : std::nullopt;
  }
  if (!can_evaluate(op) || has_symbolic_attributes(node)) return std::nullopt;
  std::vector<Tensor> operands;
  for (const Value& v : node.inputs()) {
    if (!v.defined()) {
      operands.emplace_back();
      continue;
    }
    const Results& known = tensors_.at(&v.node());
    if (!known) return std::nullopt;
    operands.push_back((*known)[static_cast<std::size_t>(v.output())]);
  }
  std::uint64_t bytes = 0;
  for (int i = 0; i < node.output_count(); ++i) {
    const ValueType& type = node.type(i);
    if (!type.shape.is_constant()) return std::nullopt;
    if (!op.has(Trait::alias)) bytes += tensor_bytes(type.dtype, type.shape.constant());
  }
  if (bytes > left_) {
    throw FormatError(
        fmt::format("constant expressions of the file need more than {} bytes: raise "
                    "OnnxReadOptions::max_memory if the file is trusted",
                    max_bytes_));
  }
  left_ -= bytes;
  try {
    return evaluate_op(op, operands, node.attributes());
  } catch (const DataError&) {
    return std::nullopt;  // the same error is thrown when the program runs
  }
}

std::optional<Dims> KnownValues::dims(Value value) {
  const std::optional<Tensor> known = evaluated(value);
  if (value.output() != 0) return known ? dims_of(*known) : std::nullopt;
  visit_operands_first(
      value.node(), [&](const Node& node) { return dims_.count(&node) != 0; },
      [&](const Node& node) { dims_.emplace(&node, derive(node)); });
  return dims_.at(&value.node());
}

std::optional<Dims> KnownValues::derive(const Node& node) {
  if (const Results& known = tensors_.at(&node)) return dims_of(known->front());
  const std::string& op = node.op().name;
  if (op == "dim_value") return Dims{node.attributes().dim("dim")};
  const Shape& shape = node.type(0).shape;
  if (!shape.is_constant() || node.inputs().empty()) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t size : shape.constant()) {
    if (size > kMaxDims || (count *= size) > kMaxDims) return std::nullopt;
  }

  const auto operand = [&](std::size_t i) -> const Dims* {
    const Value v = node.input(i);
    if (!v.defined() || v.output() != 0) return nullptr;
    const std::optional<Dims>& known = dims_.at(&v.node());
    return known ? &*known : nullptr;
  };
  // Returns the elements of an operand, broadcast to the shape of the result.
  const auto broadcast = [&](std::size_t i) -> std::optional<Dims> {
    const Dims* dims = operand(i);
    if (dims == nullptr) return std::nullopt;
    const Tensor from =
        evaluate_op(*node.graph().ops().find("broadcast_to"),
                    {numbers_from(0, node.input(i).shape().constant())}, {{"shape", shape}})[0];
    Dims result;
    for (const std::int64_t j : from.span<std::int64_t>())
      result.push_back((*dims)[static_cast<std::size_t>(j)]);
    return result;
  };

  if (keeps_integers(op)) return operand(0) == nullptr ? std::nullopt : std::optional(*operand(0));
  if (op == "neg" || op == "logical_not") {
    if (operand(0) == nullptr) return std::nullopt;
    Dims result;
    for (const Dim& d : *operand(0)) result.push_back(op == "neg" ? -d : 1 - d);
    return result;
  }
  if (moves_elements(op) && !has_symbolic_attributes(node)) {
    // The op is evaluated on the positions of the elements.
    const bool has_indices = op == "take" || op == "take_along_axis";
    Dims elements;
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      if (has_indices && i == 1) {
        const Results& indices = tensors_.at(&node.input(1).node());
        if (!indices) return std::nullopt;
        operands.push_back((*indices)[static_cast<std::size_t>(node.input(1).output())]);
        continue;
      }
      const Dims* dims = operand(i);
      if (dims == nullptr) return std::nullopt;
      operands.push_back(numbers_from(static_cast<std::int64_t>(elements.size()),
                                      node.input(i).shape().constant()));
      elements.insert(elements.end(), dims->begin(), dims->end());
    }
    Dims result;
    const Tensor from = evaluate_op(node.op(), operands, node.attributes())[0];
    for (const std::int64_t j : from.span<std::int64_t>())
      result.push_back(elements[static_cast<std::size_t>(j)]);
    return result;
  }
  if (op == "where") {
    const auto condition = broadcast(0), a = broadcast(1), b = broadcast(2);
    if (!condition || !a || !b) return std::nullopt;
    Dims result;
    for (std::size_t i = 0; i < a->size(); ++i) {
      if (!(*condition)[i].is_constant()) return std::nullopt;
      result.push_back((*condition)[i].constant() != 0 ? (*a)[i] : (*b)[i]);
    }
    return result;
  }
  const bool is_float = is_floating(node.input(0).dtype());
  if (const std::string_view pair = binary_of_reduction(op); !pair.empty() && count == 1) {
    const Dims* dims = operand(0);
    if (dims == nullptr || dims->empty()) return std::nullopt;
    Dim result = dims->front();
    for (std::size_t i = 1; i < dims->size(); ++i)
      result = *binary(pair, result, (*dims)[i], is_float);
    return Dims{result};
  }
  if (node.inputs().size() != 2 || !binary(op, 1, 1, is_float)) return std::nullopt;
  const auto a = broadcast(0), b = broadcast(1);
  if (!a || !b) return std::nullopt;
  Dims result;
  for (std::size_t i = 0; i < a->size(); ++i) {
    const std::optional<Dim> element = binary(op, (*a)[i], (*b)[i], is_float);
    if (!element) return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

Value KnownValues::unknown_leaf(Value value) {
  std::unordered_set<const Node*> seen;
  std::vector<Value> stack = {value};
  while (!stack.empty()) {
    const Value v = stack.back();
    stack.pop_back();
    if (!seen.insert(&v.node()).second || tensor(v)) continue;
    if (v.node().inputs().empty() || v.node().op().has_bodies()) return v;
    for (const Value& operand : v.node().inputs())
      if (operand.defined()) stack.push_back(operand);
  }
  return {};
}

}  // namespace weft::onnx
