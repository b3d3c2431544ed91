#include "weft/tests/random_programs/builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/tests/reference/interpreter.h"

namespace weft::testing {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

}  // namespace

void Builder::add(Value value, std::vector<Tensor> tensors) {
  known_[value] = tensors;
  pool_.push_back({value, std::move(tensors)});
}

const std::vector<Tensor>* Builder::find(Value value) const {
  const auto it = known_.find(value);
  return it == known_.end() ? nullptr : &it->second;
}

bool Builder::is_within_limits(const Tensor& t) const {
  if (!is_floating(t.dtype()) || options_.extreme_values) return true;
  const double limit = is_narrow(t.dtype()) ? 1e3 : 1e4;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    // -inf is the lse of a fully masked query.
    if (!(std::fabs(t.at(i)) < limit) && !(t.at(i) == -INFINITY && !options_.smooth)) return false;
  }
  return true;
}

bool Builder::evaluate(Node& node) {
  std::vector<std::vector<Tensor>> outputs(static_cast<std::size_t>(node.output_count()));
  try {
    for (std::size_t run = 0; run < runs(); ++run) {
      std::vector<Tensor> inputs;
      std::int64_t work = 0;
      for (const Value& v : node.inputs()) {
        if (v.defined() && find(v) == nullptr && v.node().op().name == "constant") {
          known_[v] = std::vector<Tensor>(runs(), v.node().attributes().tensor("value"));
        }
        if (v.defined() && find(v) == nullptr) return false;
        inputs.push_back(v.defined() ? (*find(v))[run] : Tensor());
        if (v.defined() && inputs.back().defined()) work += inputs.back().numel();
      }
      bool unknown = false;  // true if this run failed or if the run of an operand failed
      for (int o = 0; o < node.output_count(); ++o) {
        const Sizes sizes = node.type(o).shape.evaluate(bindings_[run]);
        const bool negative = std::any_of(sizes.begin(), sizes.end(), [](auto n) { return n < 0; });
        if (negative && (!options_.allow_errors || run == 0)) return false;
        unknown = unknown || negative;
        if (!negative) work += num_elements(sizes);
      }
      if (work > 8 * options_.most) return false;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        unknown = unknown || (node.inputs()[i].defined() && !inputs[i].defined());
      std::vector<NumberTensor> results;
      try {
        if (!unknown) results = interpret_node(node, inputs, bindings_[run]);
      } catch (const Error&) {
        if (!options_.allow_errors || run == 0) return false;
      }
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        outputs[o].push_back(results.empty() ? Tensor() : to_tensor(results[o]));
        if (!results.empty() && !is_within_limits(outputs[o].back())) return false;
      }
    }
  } catch (const Error&) {
    return false;
  }
  for (std::size_t o = 0; o < outputs.size(); ++o)
    known_[node.output(static_cast<int>(o))] = std::move(outputs[o]);
  return true;
}

Node* Builder::apply(const OpRecord& op, const std::vector<Value>& inputs,
                     const Attributes& attributes) {
  // A program must not have two new values of a variable.
  if (op.name == "with_update" && inputs.size() == 3) {
    for (const Entry& e : pool_) {
      const Node& other = e.value.node();
      if (other.op().name != "with_update" || other.input(1) != inputs[1]) continue;
      if (other.input(2) != inputs[2]) return nullptr;
    }
  }
  Node* node = nullptr;
  try {
    node = &graph_.apply(op, inputs, attributes);
  } catch (const Error&) {
    return nullptr;
  }
  if (refused_.contains(node)) return nullptr;
  if (!known_.contains(node->output(0)) && !evaluate(*node)) {
    refused_.insert(node);
    return nullptr;
  }
  if (pooled_.insert(node).second) {
    ++coverage_[op.name];
    for (int o = 0; o < node->output_count(); ++o)
      pool_.push_back({node->output(o), known_.at(node->output(o))});
  }
  return node;
}

Node* Builder::apply(std::string_view op, const std::vector<Value>& inputs,
                     const Attributes& attributes) {
  return apply(graph_.ops().at(op), inputs, attributes);
}

bool Builder::evaluate_new(bool into_pool) {
  bool all = true;
  for (; evaluated_ < graph_.node_count(); ++evaluated_) {
    Node& node = graph_.node(evaluated_);
    if (known_.contains(node.output(0)) || refused_.contains(&node)) continue;
    if (node.op().has(Trait::leaf) && node.op().name != "constant") continue;
    if (!evaluate(node)) {
      // Nodes that read this node cannot be evaluated either.
      refused_.insert(&node);
      all = false;
      continue;
    }
    if (!into_pool || !pooled_.insert(&node).second) continue;
    ++coverage_[node.op().name];
    for (int o = 0; o < node.output_count(); ++o)
      pool_.push_back({node.output(o), known_.at(node.output(o))});
  }
  return all;
}

DType Builder::any_dtype() {
  if (!options_.dtypes.empty()) return random_.pick(options_.dtypes);
  if (options_.smooth)
    return random_.chance(0.8) ? DType::f32
                               : random_.pick({DType::i64, DType::i32, DType::boolean});
  if (random_.chance(0.5)) return DType::f32;
  return random_.pick({DType::f64, DType::bf16, DType::f16, DType::i64, DType::i64, DType::i32,
                       DType::i8, DType::u8, DType::boolean});
}

Tensor Builder::data(DType dtype, const Sizes& sizes, const Tensor& like) {
  Tensor wide = Tensor::empty(is_floating(dtype) ? DType::f64 : DType::i64, sizes);
  std::int64_t low = -3, high = 6;
  if (dtype == DType::u8 || random_.chance(0.5)) low = 0;
  if (random_.chance(0.3)) high = 1;
  if (like.defined() && !is_floating(dtype) && like.numel() > 0) {
    low = high = element(like, 0).integer;
    for (std::int64_t i = 1; i < like.numel(); ++i) {
      low = std::min(low, element(like, i).integer);
      high = std::max(high, element(like, i).integer);
    }
  }
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    if (is_floating(dtype)) {
      double x = random_.uniform(-2, 2);
      if (options_.grid) x = std::round(2 * x) / 2;
      if (options_.extreme_values && random_.chance(0.1)) {
        x = random_.pick({0.0, -0.0, static_cast<double>(INFINITY), static_cast<double>(-INFINITY),
                          static_cast<double>(NAN), 1e-40, -1e30, 3e38});
      }
      wide.mutable_data<double>()[i] = x;
    } else {
      std::int64_t x = random_.from(low, high);
      if (options_.extreme_values && !like.defined() && random_.chance(0.1)) {
        x = random_.pick({std::numeric_limits<std::int64_t>::min(),
                          std::numeric_limits<std::int64_t>::max(), std::int64_t{-128},
                          std::int64_t{255}, std::int64_t{1} << 31});
      }
      wide.mutable_data<std::int64_t>()[i] = x;
    }
  }
  if (dtype == DType::boolean && !like.defined()) {
    for (std::int64_t i = 0; i < wide.numel(); ++i)
      wide.mutable_data<std::int64_t>()[i] = random_.below(2);
  }
  return wide.to(dtype);
}

Value Builder::leaf(DType dtype, const Shape& shape, const Tensor& like) {
  std::vector<Tensor> tensors;
  const bool fixed = shape.is_constant();
  for (std::size_t run = 0; run < runs(); ++run) {
    const Sizes sizes = shape.evaluate(bindings_[run]);
    if (std::any_of(sizes.begin(), sizes.end(), [](auto n) { return n < 0; })) return {};
    if (num_elements(sizes) > 2 * options_.most) return {};
    const bool same = like.defined() && like.sizes() == sizes && like.dtype() == dtype;
    tensors.push_back(same && !is_floating(dtype) ? like : data(dtype, sizes, like));
  }
  const auto kind = declares ? random_.below(10) : 9;
  const std::string number = std::to_string(leaves_++);
  if (kind < 5 || (!fixed && declares)) {
    const Value v = graph_.input("x" + number, {dtype, shape});
    for (std::size_t run = 0; run < runs(); ++run)
      feeds[run].emplace_back("x" + number, tensors[run]);
    add(v, std::move(tensors));
    return v;
  }
  if (!fixed) return {};
  for (Tensor& t : tensors) t = tensors[0];
  if (kind < 8) {
    return declare(random_.pick({VariableKind::parameter, VariableKind::parameter,
                                 VariableKind::buffer, VariableKind::optimizer}),
                   "w" + number, tensors[0]);
  }
  const Value v = graph_.constant(tensors[0]);
  if (find(v) == nullptr) add(v, std::move(tensors));
  return v;
}

Value Builder::declare(VariableKind kind, const std::string& name, const Tensor& start) {
  const Variable v = graph_.variable(name, {start.dtype(), Shape(start.sizes())}, {.kind = kind});
  variables.emplace_back(name, start);
  add(v.value(), std::vector<Tensor>(runs(), start));
  return v.value();
}

Value Builder::state(VariableKind kind, DType dtype, const Shape& shape) {
  return declare(kind, "s" + std::to_string(leaves_++), data(dtype, shape.evaluate({})));
}

Value Builder::key() {
  if (own_key.defined() && random_.chance(0.1)) {
    const Value number = graph_.scalar(DType::i64, static_cast<double>(random_.below(4)));
    if (Node* folded = apply("key_fold", {own_key, number})) return folded->output(0);
  }
  if (!declares || (own_key.defined() && (keys_ > 1 || random_.chance(0.9)))) return own_key;
  const std::string name = "noise" + std::to_string(keys_++);
  // The new key is used from now on; earlier nodes keep their keys.
  own_key = graph_.key(name).value();
  const Tensor start =
      Tensor::of<std::int64_t>({2}, {static_cast<std::int64_t>(random_.word()) << 20, 3});
  variables.emplace_back(name, start);
  add(own_key, std::vector<Tensor>(runs(), start));
  return own_key;
}

Value Builder::obtain(DType dtype, const Shape& shape, const Tensor& like) {
  const bool number = is_floating(dtype);
  std::vector<Value> same, scalars;
  for (const Entry& e : pool_) {
    if (std::any_of(e.tensors.begin(), e.tensors.end(),
                    [](const Tensor& t) { return !t.defined(); }))
      continue;
    if (e.value.dtype() == dtype && e.value.shape() == shape) same.push_back(e.value);
    if (e.value.dtype() == dtype && e.value.rank() == 0) scalars.push_back(e.value);
  }
  if (number && !same.empty() && random_.chance(0.7)) return random_.pick(same);
  Value v = leaf(dtype, shape, like);
  if (!v.defined() || !number || is_narrow(dtype) || random_.chance(0.4)) return v;
  // Combine the result with a value of the graph, so that the op is at the end of a chain.
  Value scalar = scalars.empty() ? Value() : random_.pick(scalars);
  if (!scalar.defined() || random_.chance(0.5)) {
    const Entry& e = random_.pick(pool_);
    if (e.value.dtype() != dtype) return v;
    std::vector<std::int64_t> axes;
    for (int a = 0; a < e.value.rank(); ++a) axes.push_back(a);
    if (Node* n = apply("mean", {e.value}, {{"axes", axes}, {"keepdims", false}}))
      scalar = n->output(0);
  }
  if (!scalar.defined()) return v;
  Node* mixed = apply(random_.pick({"add", "mul", "sub"}), {v, scalar});
  return mixed != nullptr && mixed->output(0).shape() == shape ? mixed->output(0) : v;
}

}  // namespace weft::testing
