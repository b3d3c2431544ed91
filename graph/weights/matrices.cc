#include "weft/graph/weights/matrices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>

#include "weft/core/error.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/weights/narrow_caches.h"
#include "weft/graph/weights/quantized_weights.h"

namespace weft {
namespace {

// Returns true if this node reads the matrix as [outputs, inputs], false if it reads the matrix as
// [inputs, outputs], and nullopt if it uses the matrix in any other way.
std::optional<bool> use_as_weight(const Node& node, std::size_t operand, bool embeddings) {
  if (node.input(static_cast<int>(operand)).rank() == 3) {
    if (is(node, "grouped_matmul") && operand == 1) return node.attributes().flag("transpose_w");
    return std::nullopt;
  }
  if (is(node, "matmul") && operand == 1) return node.attributes().flag("transpose_b");
  if (embeddings && is(node, "take") && operand == 0 && node.attributes().integer("axis") == 0) {
    return true;
  }
  return std::nullopt;
}

bool is_weight(const VariableInfo& info, int axes) {
  return info.kind == VariableKind::parameter && info.type.dtype == DType::f32 &&
         info.type.shape.rank() == axes && info.type.shape.is_constant();
}

}  // namespace

bool is_weight_matrix(const VariableInfo& info) { return is_weight(info, 2); }
bool is_weight_stack(const VariableInfo& info) {
  return is_weight(info, 3) && info.type.shape[0].constant() > 0;
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

Graph& common_graph(const std::vector<Program>& programs, std::string_view what) {
  Graph* graph = common_graph(programs);
  if (graph == nullptr) throw ArgumentError(fmt::format("there are no {}", what));
  return *graph;
}

std::vector<WeightMatrix> weight_matrices(Graph& graph, const std::vector<Program>& programs,
                                          const WeightMatrixOptions& options) {
  const std::vector<Consumers> consumers(programs.begin(), programs.end());
  std::vector<WeightMatrix> result;
  const auto add = [&](const std::string& name, const Value& value) {
    WeightMatrix matrix{name, value};
    std::optional<bool> out_in;
    for (const Consumers& program : consumers) {
      if (program.is_root(value)) return;
      for (const Use& use : program.uses(value)) {
        const std::optional<bool> seen = use_as_weight(*use.node, use.operand, options.embeddings);
        if (!seen || (out_in && out_in != seen)) return;
        out_in = seen;
        (is(*use.node, "take") ? matrix.looked_up : matrix.multiplied) = true;
      }
    }
    if (!out_in) return;
    matrix.out_in = *out_in;
    result.push_back(std::move(matrix));
  };
  std::map<std::string, QuantizedRead> quantized;  // keyed by variable that stores the matrix
  if (options.quantized) {
    for (const QuantizedRead& read : quantized_reads(graph)) quantized[read.stored.name()] = read;
  }
  for (const Variable& variable : graph.variables()) {
    const VariableInfo& info = variable.info();
    if (is_weight_matrix(info) || (options.stacks && is_weight_stack(info)))
      add(variable.name(), variable);
    const auto read = quantized.find(variable.name());
    if (read != quantized.end() && (options.stacks || read->second.weight.stack == 0))
      add(read->second.name, read->second.value);
  }
  return result;
}

std::vector<WeightMatrix> select_matrices(const std::vector<WeightMatrix>& candidates,
                                          const std::vector<std::string>& patterns,
                                          std::string_view what) {
  std::vector<char> chosen(candidates.size(), 0);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!matches(pattern, candidates[i].name)) continue;
      chosen[i] = any = true;
    }
    if (any) continue;
    if (candidates.empty())
      throw ArgumentError(fmt::format("the model has no {} (pattern '{}')", what, pattern));
    std::vector<std::string> names;
    for (const WeightMatrix& c : candidates) names.push_back(c.name);
    throw ArgumentError(fmt::format("pattern '{}' matches no {}; the candidates are: {}", pattern,
                                    what, fmt::join(names, ", ")));
  }
  std::vector<WeightMatrix> result;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (chosen[i]) result.push_back(candidates[i]);
  }
  return result;
}

std::shared_ptr<Graph> empty_graph_like(const Graph& source) {
  std::shared_ptr<Graph> graph = empty_copy(source);
  graph->reserve_streams(std::max<std::int64_t>(source.stream_end() - graph->stream_end(), 0));
  return graph;
}

Program copy_program(const Program& program, Cloner& cloner) {
  Program result(program.name());
  result.take_options(program).shards(program.shards());
  for (const auto& [name, value] : program.outputs()) result.output(name, cloner.copy(value), {});
  for (const auto& [variable, value] : program.given_updates()) {
    cloner.copy(variable.value());  // declares the variable
    const Variable stored = cloner.target().find_variable(variable.name());
    result.update(stored, as_stored(cloner.copy(value), stored.dtype()), {});
  }
  return result;
}

std::vector<Program> copy_programs(const std::vector<Program>& programs, Cloner& cloner) {
  std::vector<Program> copies;
  for (const Program& program : programs) {
    if (program.graph() != nullptr) copies.push_back(copy_program(program, cloner));
  }
  return copies;
}

void copy_names(const Graph& source, Cloner& cloner) {
  for (const auto& [name, value] : source.names()) {
    const Value copied = cloner.find(value);
    if (copied.defined()) cloner.target().set_name(name, copied, {});
  }
}

}  // namespace weft
