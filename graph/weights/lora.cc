#include "weft/graph/weights/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/random/random.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/weights/lora_matrices.h"
#include "weft/graph/weights/quantize.h"

namespace weft {
namespace {

struct Pair {
  Variable a, b;
  double scale;
};
/// Keyed by the node in the source graph that reads the matrix.
using Pairs = std::unordered_map<const Node*, Pair>;

void check(const LoraShape& shape) {
  if (shape.rank < 1)
    throw ArgumentError(fmt::format("rank must be at least 1, not {}", shape.rank));
  if (!(shape.alpha > 0 && std::isfinite(shape.alpha)))
    throw ArgumentError(fmt::format("alpha must be positive and finite, not {}", shape.alpha));
}

void check(const LoraOptions& o) {
  check(LoraShape{o.rank, o.alpha});
  for (const auto* shapes : {&o.shapes, &o.lookups}) {
    for (const auto& [name, shape] : *shapes) check(shape);
  }
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

Pair declare(Graph& graph, const WeightMatrix& matrix, const AdapterNames& names,
             const LoraOptions& options, const LoraShape& shape) {
  const auto [inputs, outputs] = adapter_sizes(matrix, names.a == kLookupAdapter.a);
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(inputs, 1)));
  return {graph.variable(matrix.name + names.a, DType::f32, {shape.rank, inputs},
                         {.initializer = Initializer::uniform(-bound, bound)}),
          graph.variable(matrix.name + names.b, DType::f32, {outputs, shape.rank},
                         {.initializer = Initializer::zeros()}),
          options.scale(shape)};
}

CloneOptions adapting(const Pairs& products, const Pairs& lookups, const LoraOptions& options,
                      bool drops) {
  CloneOptions clone;
  clone.rewrite = [&products, &lookups, rate = drops ? options.dropout : 0](
                      const Node& node, const std::vector<Value>& inputs,
                      Graph& target) -> std::vector<Value> {
    const bool multiplies = node.op().name == "matmul";
    if (!multiplies && node.op().name != "take") return {};
    const Pairs& pairs = multiplies ? products : lookups;
    const auto found = pairs.find(node.input(multiplies ? 1 : 0).node_pointer());
    if (found == pairs.end()) return {};
    const Pair& pair = found->second;
    const Value whole = target.apply(node.op().name, inputs, node.attributes(), {}).output(0);
    if (!multiplies) {
      const Value thin = take(transpose(pair.a), inputs[1], 0);
      return {whole + matmul(thin * pair.scale, pair.b, {.transpose_b = true})};
    }
    const auto product = [&](const Value& x, const Variable& w, bool transpose_x) {
      Attributes attributes = node.attributes();  // keeps the node's precision
      attributes.set("transpose_a", transpose_x);
      attributes.set("transpose_b", true);
      return target.apply("matmul", {x, w}, attributes, {}).output(0);
    };
    // Adapters read the inputs before they are rounded for a quantised matrix.
    Value x = float_operand(inputs[0]);
    if (rate > 0) x = dropout(x, rate, target.key("dropout"));
    const Value thin = product(x, pair.a, node.attributes().flag("transpose_a"));
    return {whole + product(thin * pair.scale, pair.b, false)};
  };
  return clone;
}

/// Returns the matrices whose products have adapters: tied tables after the others.
std::vector<WeightMatrix> adapted_matrices(const std::vector<WeightMatrix>& matrices,
                                           const LoraOptions& options) {
  std::vector<WeightMatrix> candidates, tied;
  for (const WeightMatrix& matrix : matrices) {
    if (!matrix.multiplied) continue;
    (matrix.looked_up ? tied : candidates).push_back(matrix);
  }
  constexpr const char* kWhat = "matrix that can have adapters";
  std::vector<WeightMatrix> chosen = select_matrices(candidates, options.patterns, kWhat);
  const std::vector<WeightMatrix> tables = select_matrices(tied, options.tied, kWhat);
  chosen.insert(chosen.end(), tables.begin(), tables.end());
  return chosen;
}

const WeightMatrix& find_table(const std::vector<WeightMatrix>& matrices, const std::string& name) {
  std::vector<std::string> tables;
  for (const WeightMatrix& matrix : matrices) {
    if (!matrix.looked_up) continue;
    if (matrix.name == name) return matrix;
    tables.push_back(matrix.name);
  }
  throw ArgumentError(unknown_name("table whose lookups can have adapters", name, tables));
}

/// Inserts the values of adapters into the store of an adapted model.
void put_values(AdaptedModel& model, const std::map<std::string, LoraAdapters::Adapter>& adapters,
                const AdapterNames& names) {
  const auto put = [&](const std::string& name, const Tensor& value) {
    const Variable variable = model.graph->find_variable(name);
    const Sizes sizes = variable.info().type.shape.evaluate({});
    if (value.dtype() != DType::f32 || value.sizes() != sizes) {
      throw ArgumentError(fmt::format("the adapter {} is {}{}, but the model needs f32{}", name,
                                      dtype_name(value.dtype()), to_string(value.sizes()),
                                      to_string(sizes)));
    }
    model.store->insert(name, VariableKind::parameter, value);
  };
  for (const auto& [name, adapter] : adapters) {
    put(name + names.a, adapter.a);
    put(name + names.b, adapter.b);
  }
}

LoraAdapters::Adapter adapter_in(const VariableStore& store, const std::string& name,
                                 const AdapterNames& names) {
  return {store.tensor(name + names.a), store.tensor(name + names.b), {}};
}

}  // namespace

LoraShape LoraOptions::shape(std::string_view matrix) const {
  const auto own = shapes.find(matrix);
  return own == shapes.end() ? LoraShape{rank, alpha} : own->second;
}

double LoraOptions::scale(const LoraShape& shape) const {
  const auto r = static_cast<double>(shape.rank);
  return shape.alpha / (rank_stabilised ? std::sqrt(r) : r);
}

AdaptedModel add_lora(const std::vector<Program>& programs, const VariableStore& store,
                      const LoraOptions& options) {
  check(options);
  Graph& source = common_graph(programs, "programs to adapt");
  store.check_whole("adapted");
  check_no_updates(programs);
  const std::vector<WeightMatrix> matrices =
      weight_matrices(source, programs, {.embeddings = true, .quantized = true});
  const std::vector<WeightMatrix> chosen = adapted_matrices(matrices, options);

  AdaptedModel result;
  result.graph = empty_graph_like(source);
  result.store = std::make_shared<VariableStore>();
  Graph& target = *result.graph;
  Pairs products, lookups;
  for (const WeightMatrix& matrix : chosen) {
    products.emplace(matrix.value.node_pointer(),
                     declare(target, matrix, kProductAdapter, options, options.shape(matrix.name)));
    result.matrices.push_back(matrix.name);
  }
  for (const auto& [name, shape] : options.lookups) {
    const WeightMatrix& table = find_table(matrices, name);
    lookups.emplace(table.value.node_pointer(),
                    declare(target, table, kLookupAdapter, options, shape));
  }
  // Uses two cloners: without other dropout in the model, training and evaluation programs may
  // share nodes, but only the training copies have dropout in the adapters.
  Cloner training(target, adapting(products, lookups, options, true));
  Cloner inference(target, adapting(products, lookups, options, false));
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
  for (const std::string& name : matrices) {
    LoraAdapters::Adapter& adapter = result.adapters[name] =
        adapter_in(store, name, kProductAdapter);
    if (options.shapes.contains(name)) adapter.scale = options.scale(options.shape(name));
  }
  for (const auto& [name, shape] : options.lookups) {
    result.lookups[name] = adapter_in(store, name, kLookupAdapter);
    result.lookups[name].scale = options.scale(shape);
  }
  return result;
}

AdaptedModel add_lora(const std::vector<Program>& programs, const VariableStore& store,
                      const TrainedAdapters& adapters) {
  Graph& source = common_graph(programs, "programs to adapt");
  std::set<std::string> tables;
  for (const WeightMatrix& matrix :
       weight_matrices(source, programs, {.embeddings = true, .quantized = true})) {
    if (matrix.looked_up) tables.insert(matrix.name);
  }
  QuantizedWeights quantized = quantized_weights(source);
  std::erase_if(quantized,
                [&](const auto& weight) { return !adapters.parameters.contains(weight.first); });
  std::vector<std::string> replaced;
  for (const auto& [name, weight] : quantized) replaced.push_back(name);
  const QuantizedModel floats =
      replaced.empty() ? QuantizedModel() : dequantize(programs, store, replaced);
  LoraOptions options = adapters.options;
  options.patterns.clear();
  options.tied.clear();
  for (const auto& [name, adapter] : adapters.values.adapters)
    (tables.contains(name) ? options.tied : options.patterns).push_back(name);
  AdaptedModel model = replaced.empty() ? add_lora(programs, store, options)
                                        : add_lora(floats.programs, *floats.store, options);
  put_values(model, adapters.values.adapters, kProductAdapter);
  put_values(model, adapters.values.lookups, kLookupAdapter);
  for (const auto& [name, value] : adapters.parameters) {
    const Variable variable = model.graph->find_variable(name);
    const Sizes sizes = variable.info().type.shape.evaluate({});
    if (variable.dtype() != value.dtype() || sizes != value.sizes()) {
      throw ArgumentError(fmt::format(
          "the parameter {} that belongs to the adapters is {}{}, but "
          "in the model it is {}",
          name, dtype_name(value.dtype()), to_string(value.sizes()), variable.info().type.str()));
    }
    if (model.store->contains(name)) {
      model.store->set(name, value);
    } else {
      model.store->insert(name, variable.info().kind, value);
    }
    if (variable.info().kind == VariableKind::parameter) model.graph->set_trainable(variable, true);
  }
  return model;
}

Tensor merged_lora(const Tensor& matrix, bool out_in, const LoraAdapters::Adapter& adapter,
                   double scale) {
  Tensor merged = matrix.clone();
  const std::int64_t rows = merged.size(0), columns = merged.size(1), rank = adapter.a.size(0),
                     inputs = adapter.a.size(1);
  const float *a = adapter.a.data<float>(), *b = adapter.b.data<float>();
  float* w = merged.mutable_data<float>();
  const std::int64_t chunks = chunk_count(rows, 16);
  Workers workers;
  workers.for_chunks(chunks, [&](std::int64_t chunk, int) {
    const ChunkRange range = chunk_range(rows, chunks, chunk);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t out = out_in ? i : j, in = out_in ? j : i;
        double sum = 0;
        for (std::int64_t r = 0; r < rank; ++r)
          sum += static_cast<double>(b[out * rank + r]) * a[r * inputs + in];
        w[i * columns + j] = static_cast<float>(w[i * columns + j] + scale * sum);
      }
    }
  });
  return merged;
}

void merge_lora(const std::vector<Program>& programs, VariableStore& store,
                const LoraAdapters& adapters) {
  Graph& graph = common_graph(programs, "programs to merge adapters into");
  const std::vector<MatchedAdapter> merges =
      matched_adapters(adapters, weight_matrices(graph, programs, {.embeddings = true}));
  for (const auto& [matrix, adapter, lookup] : merges) {
    if (lookup ? !matrix.multiplied : !matrix.looked_up) continue;
    const char *own = lookup ? "lookups" : "products", *other = lookup ? "products" : "lookups";
    throw ArgumentError(fmt::format(
        "the adapter of {} changes only its {}, but the model also uses this matrix for {} "
        "(tied embeddings): it cannot be merged; keep the adapters separate from the weights",
        matrix.name, own, other));
  }
  for (const auto& [matrix, adapter, lookup] : merges) {
    store.set(matrix.name, merged_lora(store.tensor(matrix.name), !lookup && matrix.out_in, adapter,
                                       adapters.scale_of(adapter)));
  }
}

}  // namespace weft
