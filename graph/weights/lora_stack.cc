#include "weft/graph/weights/lora_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/grouped_matmul.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/weights/lora_matrices.h"
#include "weft/graph/weights/quantized_weights.h"

namespace weft {
namespace {

/// The adapters of one matrix, in tensors of zeros at first.
struct Stack {
  Stack(const WeightMatrix& matrix, bool lookup, std::int64_t adapters, std::int64_t rank)
      : name(matrix.name), lookup(lookup), names(lookup ? kLookupAdapter : kProductAdapter) {
    const auto [inputs, outputs] = adapter_sizes(matrix, lookup);
    a = lookup ? Tensor::zeros(DType::f32, {adapters, inputs, rank})
               : Tensor::zeros(DType::f32, {adapters, rank, inputs});
    b = Tensor::zeros(DType::f32, {adapters, rank, outputs});
  }

  /// B is multiplied by -scale: subtracting the product of rows without an adapter, which is 0,
  /// keeps all bits, but adding it would change -0 to 0.
  void put(std::int64_t number, const LoraAdapters::Adapter& adapter, double scale) {
    const std::int64_t rank = adapter.a.size(0), inputs = adapter.a.size(1),
                       outputs = adapter.b.size(0), rows = b.size(1);
    const float *own_a = adapter.a.data<float>(), *own_b = adapter.b.data<float>();
    float* to_a = a.mutable_data<float>() + number * rows * inputs;
    float* to_b = b.mutable_data<float>() + number * rows * outputs;
    for (std::int64_t r = 0; r < rank; ++r) {
      for (std::int64_t i = 0; i < inputs; ++i)
        to_a[lookup ? i * rows + r : r * inputs + i] = own_a[r * inputs + i];
      for (std::int64_t o = 0; o < outputs; ++o)
        to_b[r * outputs + o] = static_cast<float>(-scale * own_b[o * rank + r]);
    }
  }

  std::string name;
  bool lookup;
  AdapterNames names;
  Tensor a;  // [adapters, rank, inputs]; of lookups [adapters, rows, rank]
  Tensor b;  // [adapters, rank, outputs]
  Variable a_variable = {}, b_variable = {};
};
/// Keyed by the node that reads the matrix and by Stack::lookup.
using Stacks = std::map<std::pair<const Node*, bool>, Stack>;

Stacks stacks_of(const std::vector<WeightMatrix>& matrices, const NamedAdapters& adapters) {
  std::vector<std::vector<MatchedAdapter>> matched;
  std::map<std::pair<const Node*, bool>, std::int64_t> ranks;
  for (const auto& [name, values] : adapters) {
    try {
      matched.push_back(matched_adapters(values, matrices));
    } catch (const ArgumentError& e) {
      throw ArgumentError(fmt::format("adapter {}: {}", name, e.what()));
    }
    for (const MatchedAdapter& one : matched.back()) {
      std::int64_t& rank = ranks[{one.matrix.value.node_pointer(), one.lookup}];
      rank = std::max(rank, one.adapter.a.size(0));
    }
  }
  Stacks stacks;
  for (std::size_t i = 0; i < matched.size(); ++i) {
    for (const auto& [matrix, adapter, lookup] : matched[i]) {
      const std::pair key{matrix.value.node_pointer(), lookup};
      const auto stack =
          stacks.try_emplace(key, matrix, lookup, std::ssize(matched), ranks.at(key)).first;
      stack->second.put(static_cast<std::int64_t>(i), adapter,
                        adapters[i].second.scale_of(adapter));
    }
  }
  return stacks;
}

/// Adds the products with adapters to the copies of nodes.
class Rewriter {
 public:
  /// There are `adapters` adapters; `rows` has the number of that of each row of the tokens, which
  /// are [rows, added].
  Rewriter(const Stacks& stacks, std::int64_t adapters, Value rows, Dim added)
      : stacks_(stacks), adapters_(adapters), rows_(std::move(rows)), new_(std::move(added)) {}

  std::vector<Value> operator()(const Node& node, const std::vector<Value>& inputs, Graph& target) {
    const bool lookup = node.op().name == "take";
    if (!lookup && node.op().name != "matmul") return {};
    const auto found = stacks_.find({node.input(lookup ? 0 : 1).node_pointer(), lookup});
    if (found == stacks_.end()) return {};
    const Stack& stack = found->second;
    const Value whole = target.apply(node.op().name, inputs, node.attributes(), {}).output(0);
    const Order& order = order_of(whole);
    Value thin;
    if (lookup) {
      // Rows without an adapter look up a row of the first one, which no group multiplies.
      const std::int64_t size = stack.a.size(1), rank = stack.a.size(2);
      const Value table = reshape(stack.a_variable, {adapters_ * size, rank});
      const Value number = where(order.numbers < adapters_, order.numbers, 0);
      thin = take(table, take(flatten(inputs[1]) + number * size, order.sorted), 0);
    } else {
      Value x = float_operand(inputs[0]);
      if (node.attributes().flag("transpose_a")) x = transpose(x);
      Value& sorted = sorted_[x];
      if (!sorted.defined()) sorted = take(flatten(x, 0, -2), order.sorted, 0);
      thin = product(node, sorted, stack.a_variable, order, true);
    }
    const Value added = product(node, thin, stack.b_variable, order, false);
    return {whole - reshape(take(added, order.places, 0), whole.shape())};
  }

 private:
  /// The rows of the operand of a product, sorted by their adapters; those without one are last.
  struct Order {
    Value numbers;  // i64 [n], from 0; without an adapter, the number of adapters
    Value sorted;   // i64 [n]: the rows in this order
    Value places;   // i64 [n]: the place of each row
    Value sizes;    // i64 [adapters]: the number of rows with each adapter
  };

  /// Returns the order of the rows of a result, which has those of its operand.
  const Order& order_of(const Value& result) {
    Graph& graph = rows_.graph();
    const Dim& count = result.shape()[0];
    const Value wanted = graph.find_input("slot_wanted");
    const bool of_tokens = count == rows_.shape()[0];
    if (!of_tokens && !(wanted.defined() && result.rank() == 2 && count == wanted.shape()[0])) {
      throw ArgumentError(fmt::format(
          "a product with {} does not belong to the rows of the input 'tokens', which has {}: "
          "adapters per row need a program of Gpt::slots_program",
          result.shape().str(), rows_.shape().str()));
    }
    Dim inner = 1;  // rows of the operand per row of rows_
    for (int axis = 1; axis < result.rank() - 1; ++axis) inner = inner * result.shape()[axis];
    Order& order = orders_[of_tokens ? inner.str() : ""];
    if (order.sizes.defined()) return order;
    const Value none = dim_value(graph, adapters_, DType::i64);
    const Value numbers = where(equal(rows_, 0), none, rows_ - 1);
    order.numbers = of_tokens
                        ? flatten(broadcast_to(unsqueeze(numbers, 1), {numbers.shape()[0], inner}))
                        : take(numbers, wanted / dim_value(graph, new_, DType::i64));
    order.sorted = argsort(order.numbers);
    order.places = argsort(order.sorted);
    order.sizes = slice(index_add(zeros(graph, DType::i64, {adapters_ + 1}), order.numbers,
                                  ones_like(order.numbers)),
                        0, {.end = Dim(adapters_)});
    return order;
  }

  /// Multiplies sorted rows in the precision of `node`.
  static Value product(const Node& node, const Value& x, const Value& w, const Order& order,
                       bool transpose_w) {
    Attributes attributes;
    attributes.set("transpose_w", transpose_w);
    if (node.op().name == "matmul")
      attributes.set("precision", node.attributes().text("precision"));
    return x.graph().apply("grouped_matmul", {x, w, order.sizes}, attributes, {}).output(0);
  }

  const Stacks& stacks_;
  std::int64_t adapters_;
  Value rows_;
  Dim new_;
  /// By the number of rows per row of tokens; "" for the tokens with wanted logits.
  std::unordered_map<std::string, Order> orders_;
  std::unordered_map<Value, Value, ValueHash> sorted_;  // operands that several matrices share
};

}  // namespace

AdaptedModel stack_lora(const Program& program, const VariableStore& store,
                        const NamedAdapters& adapters) {
  Graph& source = common_graph({program}, "program to adapt");
  const Value tokens = source.find_input("tokens");
  if (!tokens.defined()) {
    throw ArgumentError(
        fmt::format("the program '{}' has no input 'tokens': adapters per row need a program of "
                    "Gpt::slots_program",
                    program.name()));
  }
  Stacks stacks = stacks_of(
      weight_matrices(source, {program}, {.embeddings = true, .quantized = true}), adapters);
  AdaptedModel result;
  result.graph = empty_graph_like(source);
  result.store = std::make_shared<VariableStore>();
  Graph& target = *result.graph;
  for (auto& [key, stack] : stacks) {
    const auto declare = [&](const char* ending, const Tensor& value) {
      const std::string name = stack.name + ending;
      result.store->insert(name, VariableKind::parameter, value);
      return target.variable(name, {DType::f32, Shape(value.sizes())}, {.trainable = false});
    };
    stack.a_variable = declare(stack.names.a, stack.a);
    stack.b_variable = declare(stack.names.b, stack.b);
  }
  const Value rows = target.input(kAdaptersInput, DType::i64, {tokens.shape()[0]});
  CloneOptions options;
  options.rewrite = Rewriter(stacks, std::ssize(adapters), rows, tokens.shape()[1]);
  Cloner cloner(target, options);
  result.programs.push_back(copy_program(program, cloner));
  copy_names(source, cloner);
  for (const Variable& variable : target.variables()) {
    const std::string& name = variable.name();
    if (!source.has_variable(name)) continue;
    if (store.contains(name) && variable.info().kind != VariableKind::cache)
      result.store->insert(name, variable.info().kind, store.tensor(name));
  }
  return result;
}

}  // namespace weft
