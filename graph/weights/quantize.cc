#include "weft/graph/weights/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/narrow_caches.h"
#include "weft/ops/quantized.h"

namespace weft {
namespace {

void check_not_trained(const std::vector<Program>& programs, const QuantizeOptions& options) {
  for (const Program& program : programs) {
    for (const auto& [variable, value] : program.given_updates()) {
      if (!is_weight_matrix(variable.info())) continue;
      for (const std::string& pattern : options.patterns) {
        if (!matches(pattern, variable.name())) continue;
        throw ArgumentError(fmt::format(
            "program '{}' updates {}: what is trained cannot be {}; leave out the program or the "
            "matrix",
            program.name(), variable.name(), weight_format_name(options.weights)));
      }
    }
  }
}

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.size(0), columns = matrix.size(1);
  Tensor result = Tensor::empty(DType::f32, {columns, rows});
  const float* from = matrix.data<float>();
  float* to = result.mutable_data<float>();
  constexpr std::int64_t kBlock = 16;  // lines of both matrices stay in cache
  for (std::int64_t j0 = 0; j0 < columns; j0 += kBlock) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = j0; j < std::min(j0 + kBlock, columns); ++j)
        to[j * rows + i] = from[i * columns + j];
    }
  }
  return result;
}

struct Tensors {
  Tensor value, scale;  // scale is undefined for bf16
};

std::vector<Tensors> convert(const std::vector<WeightMatrix>& chosen, const VariableStore& store,
                             WeightFormat format) {
  std::vector<Tensors> result(chosen.size());
  Workers workers;
  workers.for_chunks(static_cast<std::int64_t>(chosen.size()), [&](std::int64_t chunk, int) {
    const auto i = static_cast<std::size_t>(chunk);
    const std::string& name = chosen[i].variable.name();
    const Tensor weights = store.tensor(name);
    try {
      if (format == WeightFormat::bf16) {
        result[i].value = (chosen[i].out_in ? weights : transposed(weights)).to(DType::bf16);
      } else {
        const QuantizedMatrix matrix = quantize_matrix(
            weights, format == WeightFormat::int8 ? QuantizedFormat::int8 : QuantizedFormat::int4,
            chosen[i].out_in);
        result[i] = {matrix.q, matrix.scale};
      }
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("{}: {}", name, e.what()));
    }
  });
  return result;
}

// Moves all tensors together: they are read one after the other.
void gather(std::vector<Tensors>& tensors) {
  std::vector<Tensor*> parts;
  std::vector<std::pair<DType, Sizes>> types;
  for (Tensors& t : tensors) {
    for (Tensor* part : {&t.value, &t.scale}) {
      if (!part->defined()) continue;
      parts.push_back(part);
      types.emplace_back(part->dtype(), part->sizes());
    }
  }
  std::vector<Tensor> moved = Tensor::empty_together(types);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::memcpy(moved[i].mutable_raw(), parts[i]->raw(), parts[i]->bytes());
    *parts[i] = std::move(moved[i]);
  }
}

Variable declare(Graph& graph, const VariableInfo& info, std::string_view suffix,
                 const Tensor& value) {
  const Variable v = graph.variable(info.name + std::string(suffix),
                                    ValueType{value.dtype(), Shape(value.sizes())},
                                    {.kind = info.kind, .trainable = false}, {});
  for (const std::string& alias : info.aliases) graph.alias(alias + std::string(suffix), v, {});
  return v;
}

// What the programs read in place of the matrix.
Value declare_converted(Graph& graph, const WeightMatrix& c, const Tensors& tensors,
                        VariableStore& store) {
  const VariableInfo& info = c.variable.info();
  if (!tensors.scale.defined()) {
    const Variable v = declare(graph, info, "", tensors.value);
    store.insert(v.name(), info.kind, tensors.value.read_only());
    const Value wide = graph.apply("cast", {v}, {{"dtype", DType::f32}}, {}).output(0);
    if (c.out_in) return wide;
    const std::vector<std::int64_t> swapped = {1, 0};
    return graph.apply("permute", {wide}, {{"order", swapped}}, {}).output(0);
  }
  const Variable q = declare(graph, info, ".q", tensors.value);
  const Variable scale = declare(graph, info, ".scale", tensors.scale);
  store.insert(q.name(), info.kind, tensors.value.read_only());
  store.insert(scale.name(), info.kind, tensors.scale.read_only());
  const std::int64_t first = info.type.shape[0].constant(), second = info.type.shape[1].constant();
  return graph
      .apply("dequantize", {q, scale},
             {{"inputs", c.out_in ? second : first},
              {"outputs", c.out_in ? first : second},
              {"transposed", c.out_in}},
             {})
      .output(0);
}

}  // namespace

std::string_view weight_format_name(WeightFormat format) {
  switch (format) {
    case WeightFormat::bf16: return "bf16";
    case WeightFormat::int8: return "int8";
    case WeightFormat::int4: break;
  }
  return "int4";
}

WeightFormat parse_weight_format(std::string_view name) {
  std::vector<std::string> names;
  for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int4}) {
    if (weight_format_name(f) == name) return f;
    names.emplace_back(weight_format_name(f));
  }
  throw ArgumentError(unknown_name("format of weights", name, names));
}

QuantizedModel quantize(const std::vector<Program>& programs, const VariableStore& store,
                        const QuantizeOptions& options) {
  Graph& source = common_graph(programs, "programs whose weights could be converted");
  store.check_whole("quantised");
  check_not_trained(programs, options);
  const std::vector<WeightMatrix> chosen = select_matrices(
      weight_matrices(source, programs, true), options.patterns, "matrix that can be converted");
  std::vector<Tensors> tensors = convert(chosen, store, options.weights);
  gather(tensors);

  QuantizedModel result;
  result.graph = std::make_shared<Graph>(source.shared_ops());
  result.store = std::make_shared<VariableStore>();
  Graph& target = *result.graph;
  target.share_symbols(source);
  for (const DimEquation& e : source.requirements()) target.require(e, {});

  Cloner cloner(
      target, options.narrow_caches ? CloneOptions{.rewrite = keep_caches_narrow} : CloneOptions{});
  for (const Program& program : programs) {
    for (const Value& input : program.inputs()) cloner.copy(input);
  }
  if (options.narrow_caches) result.narrow_caches = declare_narrow_caches(source, cloner);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Variable& variable = chosen[i].variable;
    const std::size_t before = target.node_count();
    cloner.set(variable, declare_converted(target, chosen[i], tensors[i], *result.store));
    for (std::size_t id = before; id < target.node_count(); ++id)
      target.copy_place(variable.value().node(), target.node(id));
    const std::size_t after =
        tensors[i].value.bytes() + (tensors[i].scale.defined() ? tensors[i].scale.bytes() : 0);
    result.weights.push_back({variable.name(), variable.info().type.str(),
                              store.tensor(variable.name()).bytes(), after});
  }
  for (const Program& program : programs) {
    if (program.graph() != nullptr) result.programs.push_back(copy_program(program, cloner));
  }
  for (const auto& [name, value] : source.names()) {
    const Value copied = cloner.find(value);
    if (copied.defined()) target.set_name(name, copied, {});
  }
  for (const Variable& variable : target.variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind == VariableKind::cache || result.store->contains(info.name)) continue;
    result.store->insert(info.name, info.kind, store.tensor(info.name));
  }
  return result;
}

}  // namespace weft
