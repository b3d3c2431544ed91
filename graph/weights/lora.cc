#include "weft/graph/weights/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/random/random.h"
#include "weft/graph/weights/matrices.h"

namespace weft {
namespace {

constexpr const char* kA = ".lora_a";
constexpr const char* kB = ".lora_b";

struct Pair {
  Variable a, b;
};
/// Keyed by the node in the source graph that reads the matrix.
using Pairs = std::unordered_map<const Node*, Pair>;

void check(const LoraOptions& o) {
  if (o.rank < 1) throw ArgumentError(fmt::format("rank must be at least 1, not {}", o.rank));
  if (!(o.alpha > 0 && std::isfinite(o.alpha)))
    throw ArgumentError(fmt::format("alpha must be positive and finite, not {}", o.alpha));
  if (!(o.dropout >= 0 && o.dropout < 1))
    throw ArgumentError(fmt::format("dropout must be in [0, 1), not {}", o.dropout));
}

void check_no_updates(const std::vector<Program>& programs) {
  for (const Program& program : programs) {
    for (const auto& [variable, value] : program.given_updates()) {
      if (variable.info().kind != VariableKind::parameter) continue;
      throw ArgumentError(fmt::format(
          "program '{}' updates {}: pass the program without its training step, and add "
          "a training step to the copy",
          program.name(), variable.name()));
    }
  }
}

Pair declare(Graph& graph, const WeightMatrix& matrix, std::int64_t rank) {
  const std::int64_t inputs = matrix.inputs();
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(inputs, 1)));
  return {graph.variable(matrix.name + kA, DType::f32, {rank, inputs},
                         {.initializer = Initializer::uniform(-bound, bound)}),
          graph.variable(matrix.name + kB, DType::f32, {matrix.outputs(), rank},
                         {.initializer = Initializer::zeros()})};
}

CloneOptions adapting(const Pairs& pairs, const LoraOptions& options, bool drops) {
  CloneOptions clone;
  clone.rewrite = [&pairs, options, drops](const Node& node, const std::vector<Value>& inputs,
                                           Graph& target) -> std::vector<Value> {
    if (node.op().name != "matmul") return {};
    const auto pair = pairs.find(node.input(1).node_pointer());
    if (pair == pairs.end()) return {};
    const Value whole = target.apply("matmul", inputs, node.attributes(), {}).output(0);
    const auto product = [&](const Value& x, const Variable& w, bool transpose_x) {
      Attributes attributes = node.attributes();  // keeps the node's precision
      attributes.set("transpose_a", transpose_x);
      attributes.set("transpose_b", true);
      return target.apply("matmul", {x, w}, attributes, {}).output(0);
    };
    Value x = inputs[0];
    if (drops && options.dropout > 0) x = dropout(x, options.dropout, target.key("dropout"));
    const Value thin = product(x, pair->second.a, node.attributes().flag("transpose_a"));
    return {whole + product(thin * options.scale(), pair->second.b, false)};
  };
  return clone;
}

}  // namespace

AdaptedModel add_lora(const std::vector<Program>& programs, const VariableStore& store,
                      const LoraOptions& options) {
  check(options);
  Graph& source = common_graph(programs, "programs to adapt");
  store.check_whole("adapted");
  check_no_updates(programs);
  const std::vector<WeightMatrix> chosen =
      select_matrices(weight_matrices(source, programs, {.quantized = true}), options.patterns,
                      "matrix that can have adapters");

  AdaptedModel result;
  result.graph = empty_graph_like(source);
  result.store = std::make_shared<VariableStore>();
  Graph& target = *result.graph;
  Pairs pairs;
  for (const WeightMatrix& matrix : chosen) {
    pairs.emplace(matrix.value.node_pointer(), declare(target, matrix, options.rank));
    result.matrices.push_back(matrix.name);
  }
  // Uses two cloners: without other dropout in the model, training and evaluation programs may
  // share nodes, but only the training copies have dropout in the adapters.
  Cloner training(target, adapting(pairs, options, true));
  Cloner inference(target, adapting(pairs, options, false));
  for (const Program& program : programs) {
    if (program.graph() == nullptr) continue;
    const bool trains = std::find(options.training.begin(), options.training.end(),
                                  program.name()) != options.training.end();
    result.programs.push_back(copy_program(program, trains ? training : inference));
  }
  copy_names(source, inference);
  for (const Variable& variable : target.variables()) {
    const std::string& name = variable.name();
    if (!source.has_variable(name)) {
      result.store->allow_initialisation({name});  // an adapter
      continue;
    }
    if (variable.info().kind == VariableKind::parameter) target.set_trainable(variable, false);
    if (store.contains(name) && variable.info().kind != VariableKind::cache)
      result.store->insert(name, variable.info().kind, store.tensor(name));
  }
  return result;
}

LoraAdapters lora_adapters(const std::vector<std::string>& matrices, const VariableStore& store,
                           const LoraOptions& options) {
  LoraAdapters result{options.scale(), {}};
  for (const std::string& name : matrices)
    result.adapters[name] = {store.tensor(name + kA), store.tensor(name + kB)};
  return result;
}

void merge_lora(const std::vector<Program>& programs, VariableStore& store,
                const LoraAdapters& adapters) {
  Graph& graph = common_graph(programs, "programs to merge adapters into");
  std::map<std::string, bool> out_in;
  for (const WeightMatrix& m : weight_matrices(graph, programs, {.embeddings = true}))
    out_in[m.name] = m.out_in;
  for (const auto& [name, adapter] : adapters.adapters) {
    const auto matrix = out_in.find(name);
    if (matrix == out_in.end()) {
      throw ArgumentError(fmt::format(
          "there is an adapter for {}, which is not a weight matrix of the model", name));
    }
    const Tensor w = store.tensor(name);
    const auto fits = [&](const Tensor& t) { return t.dtype() == DType::f32 && t.rank() == 2; };
    const std::int64_t outputs = w.size(matrix->second ? 0 : 1);
    const std::int64_t inputs = w.size(matrix->second ? 1 : 0);
    if (!fits(adapter.a) || !fits(adapter.b) || adapter.a.size(1) != inputs ||
        adapter.b.size(0) != outputs || adapter.a.size(0) != adapter.b.size(1)) {
      throw ArgumentError(fmt::format(
          "the adapter of {} has A {}{} and B {}{}; a matrix with {} inputs and {} outputs needs "
          "f32[rank, {}] and f32[{}, rank]",
          name, dtype_name(adapter.a.dtype()), to_string(adapter.a.sizes()),
          dtype_name(adapter.b.dtype()), to_string(adapter.b.sizes()), inputs, outputs, inputs,
          outputs));
    }
  }
  Workers workers;
  for (const auto& [name, adapter] : adapters.adapters) {
    const bool rows_are_outputs = out_in.at(name);
    Tensor merged = store.tensor(name).clone();
    const std::int64_t rows = merged.size(0), columns = merged.size(1), rank = adapter.a.size(0),
                       inputs = adapter.a.size(1);
    const float *a = adapter.a.data<float>(), *b = adapter.b.data<float>();
    float* w = merged.mutable_data<float>();
    const std::int64_t chunks = chunk_count(rows, 16);
    workers.for_chunks(chunks, [&](std::int64_t chunk, int) {
      const ChunkRange range = chunk_range(rows, chunks, chunk);
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          const std::int64_t out = rows_are_outputs ? i : j, in = rows_are_outputs ? j : i;
          double sum = 0;
          for (std::int64_t r = 0; r < rank; ++r)
            sum += static_cast<double>(b[out * rank + r]) * a[r * inputs + in];
          w[i * columns + j] = static_cast<float>(w[i * columns + j] + adapters.scale * sum);
        }
      }
    });
    store.set(name, merged);
  }
}

}  // namespace weft
