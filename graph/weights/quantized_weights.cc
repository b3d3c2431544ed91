#include "weft/graph/weights/quantized_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/narrow_caches.h"
#include "weft/ops/quantized/quantized.h"

namespace weft {
namespace {

constexpr std::string_view kQ = ".q", kScale = ".scale";

/// Matrices of a source graph that are multiplied by rounded inputs.
using RoundedMatrices = std::unordered_map<Value, const QuantizedWeight*, ValueHash>;

/// Returns the info of the parameter that `value` reads, or null if it is not a parameter of this
/// dtype.
const VariableInfo* parameter(const Value& value, DType dtype) {
  if (!is(value, "variable") || value.dtype() != dtype) return nullptr;
  const VariableInfo& info = Variable(value).info();
  return info.kind == VariableKind::parameter ? &info : nullptr;
}

/// Returns the quantised matrix that a dequantize node reads, if any.
std::optional<QuantizedRead> read_of_dequantize(Node& node) {
  const Value q = node.input(0);
  const VariableInfo* info = parameter(q, q.dtype());
  if (info == nullptr || !info->name.ends_with(kQ) || !is(node.input(1), "variable") ||
      node.attributes().dtype("dtype") != DType::f32)
    return std::nullopt;
  const Shape& shape = node.output(0).shape();
  const std::int64_t stack = shape.rank() == 3 ? shape[0].constant() : 0;
  if (shape.rank() == 3 && stack == 0) return std::nullopt;
  return QuantizedRead{info->name.substr(0, info->name.size() - kQ.size()),
                       {weight_format(quantized_format(q.dtype(), node.input(1).dtype())),
                        node.attributes().integer("inputs"), node.attributes().integer("outputs"),
                        node.attributes().flag("transposed"), stack},
                       node.output(0),
                       Variable(q),
                       Variable(node.input(1))};
}

/// Returns the bf16 matrix that a cast node widens, if any.
std::optional<QuantizedRead> read_of_cast(Node& node) {
  const Value stored = node.input(0);
  const VariableInfo* info = parameter(stored, DType::bf16);
  if (info == nullptr || !info->type.shape.is_constant() || node.type(0).dtype != DType::f32)
    return std::nullopt;
  const int rank = info->type.shape.rank();
  const auto size = [&](int axis) { return info->type.shape[axis].constant(); };
  if (rank != 2 && (rank != 3 || size(0) == 0)) return std::nullopt;
  return QuantizedRead{
      info->name,
      {WeightFormat::bf16, size(rank - 1), size(rank - 2), true, rank == 3 ? size(0) : 0},
      node.output(0),
      Variable(stored),
      Variable()};
}

/// Returns the aliases of a variable without their last `suffix` characters.
std::vector<std::string> aliases_without(const VariableInfo& info, std::size_t suffix) {
  std::vector<std::string> aliases;
  for (const std::string& alias : info.aliases)
    aliases.push_back(alias.substr(0, alias.size() - suffix));
  return aliases;
}

Variable declare(Graph& graph, const VariableInfo& info, std::string_view suffix,
                 const ValueType& type) {
  const Variable v = graph.variable(info.name + std::string(suffix), type,
                                    {.kind = info.kind, .trainable = false}, {});
  for (const std::string& alias : info.aliases) graph.alias(alias + std::string(suffix), v, {});
  return v;
}

/// Returns the shape of a stack of `stack` tensors, or of one tensor if `stack` is 0.
Shape stacked(Sizes sizes, std::int64_t stack) {
  if (stack > 0) sizes.insert(sizes.begin(), stack);
  return Shape(sizes);
}

/// Declares the variables of a quantised matrix. Returns the value that programs read instead of
/// the f32 parameter.
Value declare_quantized(Graph& graph, const VariableInfo& info, const QuantizedWeight& w) {
  if (w.format == WeightFormat::bf16) {
    const Variable v =
        declare(graph, info, "", {DType::bf16, stacked({w.outputs, w.inputs}, w.stack)});
    const Value wide = graph.apply("cast", {v}, {{"dtype", DType::f32}}, {}).output(0);
    if (w.out_in) return wide;
    const std::vector<std::int64_t> swapped =
        w.stack > 0 ? std::vector<std::int64_t>{0, 2, 1} : std::vector<std::int64_t>{1, 0};
    return graph.apply("permute", {wide}, {{"order", swapped}}, {}).output(0);
  }
  const QuantizedFormat format = *quantized_format(w.format);
  const Variable q = declare(
      graph, info, kQ,
      {quantized_dtype(format), stacked(quantized_sizes(format, w.inputs, w.outputs), w.stack)});
  const Variable scale =
      declare(graph, info, kScale,
              {quantized_scale_dtype(format),
               stacked(quantized_scale_sizes(format, w.inputs, w.outputs), w.stack)});
  return graph
      .apply("dequantize", {q, scale},
             {{"inputs", w.inputs}, {"outputs", w.outputs}, {"transposed", w.out_in}}, {})
      .output(0);
}

/// If `node` is a product with one of the matrices with rounded inputs, returns the product of
/// the rounded copies. `matrices` are values of the source graph.
std::vector<Value> round_inputs(const RoundedMatrices& matrices, const Node& node,
                                const std::vector<Value>& inputs, Graph& target) {
  if (!is(node, "matmul") || node.attributes().flag("transpose_a")) return {};
  const auto found = matrices.find(node.input(1));
  if (found == matrices.end()) return {};
  const Value x = rounded_operand(inputs[0], *found->second);
  return {target.apply("matmul", {x, inputs[1]}, node.attributes(), {}).output(0)};
}

/// Returns a rewrite of products with these matrices, which removes the rounding of their inputs.
RewriteNode keep_inputs_float(const std::vector<QuantizedRead>& reads) {
  std::unordered_set<Value, ValueHash> matrices;
  for (const QuantizedRead& read : reads) matrices.insert(read.value);
  return [matrices](const Node& node, const std::vector<Value>& inputs,
                    Graph& target) -> std::vector<Value> {
    if (!is(node, "matmul") || !matrices.contains(node.input(1))) return {};
    const Value x = float_operand(inputs[0]);
    return {target.apply("matmul", {x, inputs[1]}, node.attributes(), {}).output(0)};
  };
}

/// Sets the rounding of inputs in `reads` from the products in the graph. `values` maps the values
/// of matrices to indices into `reads`.
void find_rounded_inputs(const Graph& graph, std::vector<QuantizedRead>& reads) {
  std::unordered_map<Value, std::size_t, ValueHash> values;
  for (std::size_t i = 0; i < reads.size(); ++i) values.emplace(reads[i].value, i);
  for (std::size_t id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (!is(node, "matmul") || !is(node.input(0), "fake_quantize")) continue;
    const auto found = values.find(node.input(1));
    if (found == values.end()) continue;
    QuantizedWeight& weight = reads[found->second].weight;
    weight.activations = ActivationFormat::int8;
    const Node& rounding = node.input(0).node();
    if (is(rounding.input(1), "constant")) {
      const Tensor scale = rounding.input(1).node().attributes().tensor("value");
      weight.activation_scale = static_cast<float>(scale.at(0));
    }
  }
}

/// Replaces `from` in the copy with the value that `declare` builds in the cloner's target. The new
/// nodes have the source location of `from`.
template <class Declare>
void replace(Cloner& cloner, const Value& from, const Declare& declare) {
  Graph& target = cloner.target();
  const std::size_t before = target.node_count();
  cloner.set(from, declare(target));
  for (std::size_t id = before; id < target.node_count(); ++id)
    target.copy_source_info(from.node(), target.node(id));
}

RewrittenPrograms finish(const std::vector<Program>& programs, Cloner& cloner,
                         std::shared_ptr<Graph> graph) {
  RewrittenPrograms result{std::move(graph), copy_programs(programs, cloner)};
  copy_names(*common_graph(programs), cloner);
  return result;
}

}  // namespace

Shape QuantizedWeight::shape() const {
  return stacked(out_in ? Sizes{outputs, inputs} : Sizes{inputs, outputs}, stack);
}

std::optional<QuantizedFormat> quantized_format(WeightFormat format) {
  switch (format) {
    case WeightFormat::bf16: return std::nullopt;
    case WeightFormat::int8: return QuantizedFormat::int8;
    case WeightFormat::int4: return QuantizedFormat::int4;
    case WeightFormat::q8_0: break;
  }
  return QuantizedFormat::q8_0;
}

WeightFormat weight_format(QuantizedFormat format) {
  switch (format) {
    case QuantizedFormat::int8: return WeightFormat::int8;
    case QuantizedFormat::int4: return WeightFormat::int4;
    case QuantizedFormat::q8_0: break;
  }
  return WeightFormat::q8_0;
}

std::string_view weight_format_name(WeightFormat format) {
  return format == WeightFormat::bf16 ? "bf16" : quantized_format_name(*quantized_format(format));
}

WeightFormat parse_weight_format(std::string_view name) {
  std::vector<std::string> names;
  for (const WeightFormat f :
       {WeightFormat::bf16, WeightFormat::int8, WeightFormat::q8_0, WeightFormat::int4}) {
    if (weight_format_name(f) == name) return f;
    names.emplace_back(weight_format_name(f));
  }
  throw ArgumentError(unknown_name("weight format", name, names));
}

std::string_view activation_format_name(ActivationFormat format) {
  return format == ActivationFormat::none ? "none" : "int8";
}

ActivationFormat parse_activation_format(std::string_view name) {
  for (const ActivationFormat f : {ActivationFormat::none, ActivationFormat::int8}) {
    if (activation_format_name(f) == name) return f;
  }
  throw ArgumentError(unknown_name("activation format", name, {"none", "int8"}));
}

std::string_view cache_format_name(CacheFormat format) {
  return format == CacheFormat::f32 ? "f32" : format == CacheFormat::bf16 ? "bf16" : "int8";
}

CacheFormat parse_cache_format(std::string_view name) {
  std::vector<std::string> names;
  for (const CacheFormat f : {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8}) {
    if (cache_format_name(f) == name) return f;
    names.emplace_back(cache_format_name(f));
  }
  throw ArgumentError(unknown_name("cache format", name, names));
}

std::vector<QuantizedRead> quantized_reads(const Graph& graph) {
  std::vector<QuantizedRead> reads;
  std::unordered_map<Value, std::size_t, ValueHash> widened;  // maps casts to indices into `reads`
  for (std::size_t id = 0; id < graph.node_count(); ++id) {
    Node& node = graph.node(id);
    std::optional<QuantizedRead> read;
    if (is(node, "dequantize")) read = read_of_dequantize(node);
    if (is(node, "cast") && (read = read_of_cast(node)))
      widened.emplace(node.output(0), reads.size());
    if (is(node, "permute")) {
      const auto cast = widened.find(node.input(0));
      if (cast != widened.end()) {
        reads[cast->second].value = node.output(0);
        reads[cast->second].weight.out_in = false;
      }
    }
    if (read) reads.push_back(*std::move(read));
  }
  find_rounded_inputs(graph, reads);
  return reads;
}

QuantizedWeights quantized_weights(const Graph& graph) {
  QuantizedWeights weights;
  for (const QuantizedRead& read : quantized_reads(graph)) weights.emplace(read.name, read.weight);
  return weights;
}

std::size_t count_rounded_inputs(const QuantizedWeights& weights) {
  return static_cast<std::size_t>(std::count_if(
      weights.begin(), weights.end(),
      [](const auto& weight) { return weight.second.activations != ActivationFormat::none; }));
}

void check_float_inputs(const Graph& graph, std::string_view files) {
  const std::size_t rounded = count_rounded_inputs(quantized_weights(graph));
  if (rounded == 0) return;
  throw ArgumentError(fmt::format(
      "the inputs of {} matrices are rounded to int8, which {} cannot express: drop the rounding "
      "(weft convert --drop-activation-rounding, with_float_inputs()) or quantise the weights only "
      "(weft quantize --activations none)",
      rounded, files));
}

std::vector<std::string> stored_names(std::string_view name, WeightFormat format) {
  if (format == WeightFormat::bf16) return {std::string(name)};
  return {std::string(name) + std::string(kQ), std::string(name) + std::string(kScale)};
}

CacheFormat cache_format(const Graph& graph) {
  CacheFormat format = CacheFormat::f32;
  for (const Variable& variable : graph.variables()) {
    if (variable.info().kind == VariableKind::cache && variable.dtype() != DType::f32)
      format = variable.dtype() == DType::i8 ? CacheFormat::int8 : CacheFormat::bf16;
  }
  return format;
}

RewrittenPrograms with_quantized(const std::vector<Program>& programs,
                                 const QuantizedWeights& weights, CacheFormat caches) {
  Graph& source = common_graph(programs, "programs whose weights can be replaced");
  for (const auto& [name, weight] : weights) {
    if (!source.has_variable(name)) {
      throw ArgumentError(fmt::format("the programs have no parameter {} to replace", name));
    }
    const VariableInfo& info = source.find_variable(name).info();
    if ((is_weight_matrix(info) || is_weight_stack(info)) && info.type.shape == weight.shape()) {
      if (weight.activations == ActivationFormat::none) continue;
      if (weight.format != WeightFormat::bf16 && weight.stack == 0) continue;
      throw ArgumentError(fmt::format(
          "{} is {}: only inputs of int8, q8_0 and int4 matrices can be rounded to int8", name,
          weight.stack > 0 ? "a stack of matrices" : "bf16"));
    }
    throw ArgumentError(fmt::format("{} is {}: {}{} cannot replace it", name, info.type.str(),
                                    weight_format_name(weight.format), weight.shape().str()));
  }
  const std::shared_ptr<Graph> graph = empty_graph_like(source);
  RoundedMatrices rounded;
  for (const auto& [name, weight] : weights) {
    if (weight.activations == ActivationFormat::int8)
      rounded.emplace(source.find_variable(name).value(), &weight);
  }
  Cloner cloner(*graph,
                {.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
                  std::vector<Value> made = round_inputs(rounded, node, inputs, target);
                  if (made.empty() && caches != CacheFormat::f32)
                    made = keep_caches_narrow(node, inputs, target);
                  return made;
                }});
  for (const Program& program : programs) {
    for (const Value& input : program.inputs()) cloner.copy(input);
  }
  const std::size_t narrow = declare_narrow_caches(source, cloner, caches);
  for (const Variable& variable : source.variables()) {
    const auto found = weights.find(variable.name());
    if (found == weights.end()) continue;
    replace(cloner, variable, [&](Graph& target) {
      return declare_quantized(target, variable.info(), found->second);
    });
  }
  RewrittenPrograms result = finish(programs, cloner, graph);
  result.narrow_caches = narrow;
  return result;
}

Value rounded_operand(const Value& x, const QuantizedWeight& weight) {
  if (weight.activations == ActivationFormat::none) return x;
  Graph& graph = x.graph();
  std::vector<Value> operands = {x};
  if (weight.activation_scale != 0)
    operands.push_back(graph.scalar(DType::f32, weight.activation_scale, {}));
  return graph.apply("fake_quantize", std::move(operands), {}, {}).output(0);
}

Value float_operand(const Value& operand) {
  return is(operand, "fake_quantize") ? operand.node().input(0) : operand;
}

RewrittenPrograms without_quantized(const std::vector<Program>& programs,
                                    const std::vector<std::string>& patterns) {
  Graph& source = common_graph(programs, "programs whose weights can be dequantised");
  const std::shared_ptr<Graph> graph = empty_graph_like(source);
  std::vector<QuantizedRead> reads = quantized_reads(source);
  std::erase_if(reads,
                [&](const QuantizedRead& read) { return !matches_any(patterns, read.name); });
  Cloner cloner(*graph, {.rewrite = keep_inputs_float(reads)});
  for (const Program& program : programs) {
    for (const Value& input : program.inputs()) cloner.copy(input);
  }
  for (const QuantizedRead& read : reads) {
    replace(cloner, read.value, [&](Graph& target) {
      const Variable v = target.variable(read.name, {DType::f32, read.weight.shape()}, {}, {});
      const std::size_t suffix = read.weight.format == WeightFormat::bf16 ? 0 : kQ.size();
      for (const std::string& alias : aliases_without(read.stored.info(), suffix))
        target.alias(alias, v, {});
      return v.value();
    });
  }
  return finish(programs, cloner, graph);
}

RewrittenPrograms without_rounded_inputs(const std::vector<Program>& programs) {
  Graph& source = common_graph(programs, "programs with quantised weights");
  const std::shared_ptr<Graph> graph = empty_graph_like(source);
  Cloner cloner(*graph, {.rewrite = keep_inputs_float(quantized_reads(source))});
  return finish(programs, cloner, graph);
}

}  // namespace weft
