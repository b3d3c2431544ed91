#include "weft/graph/weights/matrices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <optional>

#include "weft/core/error.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/weights/narrow_caches.h"

namespace weft {
namespace {

// How one use sees a matrix: [outputs, inputs] or not, or nothing where the use needs the floats as
// they are.
std::optional<bool> use_as_weight(const Node& node, std::size_t operand, bool embeddings) {
  if (is(node, "matmul") && operand == 1) return node.attributes().flag("transpose_b");
  if (embeddings && is(node, "take") && operand == 0 && node.attributes().integer("axis") == 0) {
    return true;
  }
  return std::nullopt;
}

}  // namespace

bool is_weight_matrix(const VariableInfo& info) {
  return info.kind == VariableKind::parameter && info.type.dtype == DType::f32 &&
         info.type.shape.rank() == 2 && info.type.shape.is_constant();
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

Graph& common_graph(const std::vector<Program>& programs, std::string_view what) {
  Graph* graph = common_graph(programs);
  if (graph == nullptr) throw ArgumentError(fmt::format("there are no {}", what));
  return *graph;
}

std::vector<WeightMatrix> weight_matrices(Graph& graph, const std::vector<Program>& programs,
                                          bool embeddings) {
  const std::vector<Consumers> consumers(programs.begin(), programs.end());
  const auto layout = [&](const Value& weight) -> std::optional<bool> {
    std::optional<bool> out_in;
    for (const Consumers& program : consumers) {
      if (program.is_root(weight)) return std::nullopt;
      for (const Use& use : program.uses(weight)) {
        const std::optional<bool> seen = use_as_weight(*use.node, use.operand, embeddings);
        if (!seen || (out_in && out_in != seen)) return std::nullopt;
        out_in = seen;
      }
    }
    return out_in;
  };
  std::vector<WeightMatrix> result;
  for (const Variable& variable : graph.variables()) {
    if (!is_weight_matrix(variable.info())) continue;
    if (const auto out_in = layout(variable.value())) result.push_back({variable, *out_in});
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
      if (!matches(pattern, candidates[i].variable.name())) continue;
      chosen[i] = any = true;
    }
    if (any) continue;
    std::vector<std::string> names;
    for (const WeightMatrix& c : candidates) names.push_back(c.variable.name());
    throw ArgumentError(
        fmt::format("'{}' names no {}; there are: {}", pattern, what, fmt::join(names, ", ")));
  }
  std::vector<WeightMatrix> result;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (chosen[i]) result.push_back(candidates[i]);
  }
  return result;
}

Program copy_program(const Program& program, Cloner& cloner) {
  Program result(program.name());
  result.precision(program.precision());
  for (const auto& [name, value] : program.outputs()) result.output(name, cloner.copy(value), {});
  for (const auto& [variable, value] : program.given_updates()) {
    cloner.copy(variable.value());  // declares it
    const Variable kept = cloner.target().find_variable(variable.name());
    result.update(kept, as_kept(cloner.copy(value), kept.dtype()), {});
  }
  return result;
}

}  // namespace weft
