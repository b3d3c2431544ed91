#include "weft/graph/quantize/quantize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/graph/ir/clone.h"
#include "weft/ops/quantized.h"

namespace weft {
namespace {

// A matrix that can be converted, and where its outputs are.
struct Candidate {
  Variable variable;
  bool transposed = false;  // [outputs, inputs]
};

// How one use sees a matrix: the axes order, or nothing where the use needs the floats as they are.
std::optional<bool> use_as_weight(const Node& node, std::size_t operand) {
  if (node.op().name == "matmul" && operand == 1) return node.attributes().flag("transpose_b");
  if (node.op().name == "take" && operand == 0 && node.attributes().integer("axis") == 0)
    return true;
  return std::nullopt;
}

bool is_matrix(const VariableInfo& info) {
  return info.kind == VariableKind::parameter && info.type.dtype == DType::f32 &&
         info.type.shape.rank() == 2 && info.type.shape.is_constant();
}

bool matches(const std::string& pattern, const Variable& variable) {
  return fnmatch(pattern.c_str(), variable.name().c_str(), 0) == 0;
}

Graph& common_graph(const std::vector<Program>& programs) {
  Graph* graph = nullptr;
  for (const Program& program : programs) {
    if (program.graph() == nullptr) continue;
    if (graph != nullptr && graph != program.graph())
      throw ArgumentError(
          fmt::format("program '{}' is over another graph than those before it", program.name()));
    graph = program.graph();
  }
  if (graph == nullptr)
    throw ArgumentError("there are no programs whose weights could be converted");
  return *graph;
}

// The matrices of which all uses in all programs agree, in order of declaration.
std::vector<Candidate> find_candidates(Graph& graph, const std::vector<Program>& programs) {
  std::map<const Node*, std::optional<bool>> seen;  // nullopt: used as something else too
  const auto note = [&](const Value& value, std::optional<bool> transposed) {
    if (!value.defined() || value.node().op().name != "variable") return;
    const auto [it, first] = seen.emplace(value.node_pointer(), transposed);
    if (!first && it->second != transposed) it->second = std::nullopt;
  };
  for (const Program& program : programs) {
    for (const Node* node : program.nodes()) {
      for (std::size_t i = 0; i < node->inputs().size(); ++i)
        note(node->input(i), use_as_weight(*node, i));
    }
    for (const auto& [name, value] : program.outputs()) note(value, std::nullopt);
  }
  std::vector<Candidate> result;
  for (const Variable& variable : graph.variables()) {
    if (!is_matrix(variable.info())) continue;
    const auto found = seen.find(variable.value().node_pointer());
    if (found != seen.end() && found->second) result.push_back({variable, *found->second});
  }
  return result;
}

std::vector<Candidate> select(const std::vector<Candidate>& candidates,
                              const std::vector<std::string>& patterns) {
  std::vector<char> chosen(candidates.size(), 0);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!matches(pattern, candidates[i].variable)) continue;
      chosen[i] = any = true;
    }
    if (any) continue;
    std::vector<std::string> names;
    for (const Candidate& c : candidates) names.push_back(c.variable.name());
    throw ArgumentError(fmt::format("'{}' names no matrix that can be converted; there are: {}",
                                    pattern, fmt::join(names, ", ")));
  }
  std::vector<Candidate> result;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (chosen[i]) result.push_back(candidates[i]);
  }
  return result;
}

void check_not_trained(const std::vector<Program>& programs, const QuantizeOptions& options) {
  for (const Program& program : programs) {
    for (const auto& [variable, value] : program.given_updates()) {
      if (!is_matrix(variable.info())) continue;
      for (const std::string& pattern : options.patterns) {
        if (!matches(pattern, variable)) continue;
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

std::vector<Tensors> convert(const std::vector<Candidate>& chosen, const VariableStore& store,
                             WeightFormat format) {
  std::vector<Tensors> result(chosen.size());
  Workers workers;
  workers.for_chunks(static_cast<std::int64_t>(chosen.size()), [&](std::int64_t chunk, int) {
    const auto i = static_cast<std::size_t>(chunk);
    const std::string& name = chosen[i].variable.name();
    const Tensor weights = store.tensor(name);
    try {
      if (format == WeightFormat::bf16) {
        result[i].value = (chosen[i].transposed ? weights : transposed(weights)).to(DType::bf16);
      } else {
        const QuantizedMatrix matrix = quantize_matrix(
            weights, format == WeightFormat::int8 ? QuantizedFormat::int8 : QuantizedFormat::int4,
            chosen[i].transposed);
        result[i] = {matrix.q, matrix.scale};
      }
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("{}: {}", name, e.what()));
    }
  });
  return result;
}

// Moves all tensors into one block of memory: a block of some MiB is made of huge pages, which read
// up to twice as fast as the small pages of one matrix.
void gather(std::vector<Tensors>& tensors) {
  constexpr std::size_t kAlignment = 4096;
  const auto round_up = [](std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::size_t bytes = 0;
  for (const Tensors& t : tensors) {
    for (const Tensor* part : {&t.value, &t.scale})
      bytes += part->defined() ? round_up(part->bytes()) : 0;
  }
  const auto block = Buffer::allocate(bytes);
  std::size_t offset = 0;
  for (Tensors& t : tensors) {
    for (Tensor* part : {&t.value, &t.scale}) {
      if (!part->defined()) continue;
      Tensor moved = Tensor::view(part->dtype(), part->sizes(), block, offset);
      std::memcpy(moved.mutable_raw(), part->raw(), part->bytes());
      offset += round_up(part->bytes());
      *part = std::move(moved);
    }
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
Value declare_converted(Graph& graph, const Candidate& c, const Tensors& tensors,
                        VariableStore& store) {
  const VariableInfo& info = c.variable.info();
  if (!tensors.scale.defined()) {
    const Variable v = declare(graph, info, "", tensors.value);
    store.insert(v.name(), info.kind, tensors.value);
    const Value wide = graph.apply("cast", {v}, {{"dtype", DType::f32}}, {}).output(0);
    if (c.transposed) return wide;
    const std::vector<std::int64_t> swapped = {1, 0};
    return graph.apply("permute", {wide}, {{"order", swapped}}, {}).output(0);
  }
  const Variable q = declare(graph, info, ".q", tensors.value);
  const Variable scale = declare(graph, info, ".scale", tensors.scale);
  store.insert(q.name(), info.kind, tensors.value);
  store.insert(scale.name(), info.kind, tensors.scale);
  const std::int64_t first = info.type.shape[0].constant(), second = info.type.shape[1].constant();
  return graph
      .apply("dequantize", {q, scale},
             {{"inputs", c.transposed ? second : first},
              {"outputs", c.transposed ? first : second},
              {"transposed", c.transposed}},
             {})
      .output(0);
}

Program copy_program(const Program& program, Cloner& cloner) {
  Program result(program.name());
  result.precision(program.precision());
  for (const auto& [name, value] : program.outputs()) result.output(name, cloner.copy(value), {});
  for (const auto& [variable, value] : program.given_updates()) {
    result.update(Variable(cloner.copy(variable.value())), cloner.copy(value), {});
  }
  return result;
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
  for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int4}) {
    if (weight_format_name(f) == name) return f;
  }
  throw ArgumentError(
      fmt::format("unknown format of weights '{}'; there are bf16, int8, int4", name));
}

QuantizedModel quantize(const std::vector<Program>& programs, const VariableStore& store,
                        const QuantizeOptions& options) {
  Graph& source = common_graph(programs);
  store.check_whole("quantised");
  check_not_trained(programs, options);
  const std::vector<Candidate> chosen = select(find_candidates(source, programs), options.patterns);
  std::vector<Tensors> tensors = convert(chosen, store, options.weights);
  gather(tensors);

  QuantizedModel result;
  result.graph = std::make_shared<Graph>(source.shared_ops());
  result.store = std::make_shared<VariableStore>();
  Graph& target = *result.graph;
  target.share_symbols(source);
  for (const DimEquation& e : source.requirements()) target.require(e, {});

  Cloner cloner(target);
  for (const Program& program : programs) {
    for (const Value& input : program.inputs()) cloner.copy(input);
  }
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
