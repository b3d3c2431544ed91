#include "weft/graph/weights/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/weights/matrices.h"
#include "weft/ops/op.h"
#include "weft/ops/quantized/quantized.h"

namespace weft {
namespace {

/// Returns true for a parameter that is a weight matrix, or a stack that the program multiplies by.
bool is_weight(const Variable& variable, const Consumers& consumers) {
  if (is_weight_matrix(variable.info())) return true;
  if (!is_weight_stack(variable.info())) return false;
  const auto& uses = consumers.uses(variable);
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
    return is(*use.node, "grouped_matmul") && use.operand == 1;
  });
}

void check_not_trained(const std::vector<Program>& programs, const QuantizeOptions& options) {
  for (const Program& program : programs) {
    const Consumers consumers(program);
    for (const auto& [variable, value] : program.given_updates()) {
      if (!is_weight(variable, consumers)) continue;
      for (const std::string& pattern : options.patterns) {
        if (!matches(pattern, variable.name())) continue;
        throw ArgumentError(fmt::format(
            "program '{}' updates {}: trained weights cannot be {}; leave out the program or the "
            "matrix",
            program.name(), variable.name(), weight_format_name(options.weights)));
      }
    }
  }
}

/// Swaps the last two axes of a matrix or a stack of matrices.
Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.size(-2), columns = matrix.size(-1);
  Sizes sizes = matrix.sizes();
  std::swap(sizes[sizes.size() - 2], sizes.back());
  Tensor result = Tensor::empty(DType::f32, sizes);
  const float* from = matrix.data<float>();
  float* to = result.mutable_data<float>();
  constexpr std::int64_t kBlock = 16;  // the cache lines of both matrices stay in cache
  for (std::int64_t at = 0; at < matrix.numel(); at += rows * columns) {
    for (std::int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = j0; j < std::min(j0 + kBlock, columns); ++j)
          to[at + j * rows + i] = from[at + i * columns + j];
      }
    }
  }
  return result;
}

struct Tensors {
  Tensor value, scale;  // scale is undefined for bf16
};

/// Quantises each matrix of a stack [matrices, rows, columns].
Tensors quantized_stack(const Tensor& stack, QuantizedFormat format, bool out_in) {
  const std::int64_t inputs = stack.size(out_in ? 2 : 1), outputs = stack.size(out_in ? 1 : 2);
  const auto stacked = [&](Sizes sizes) {
    sizes.insert(sizes.begin(), stack.size(0));
    return sizes;
  };
  Tensors result{
      Tensor::empty(quantized_dtype(format), stacked(quantized_sizes(format, inputs, outputs))),
      Tensor::empty(quantized_scale_dtype(format),
                    stacked(quantized_scale_sizes(format, inputs, outputs)))};
  Tensor matrix = Tensor::empty(DType::f32, {stack.size(1), stack.size(2)});
  for (std::int64_t i = 0; i < stack.size(0); ++i) {
    const auto at = [i](auto* first, const Tensor& one) {
      return first + static_cast<std::size_t>(i) * one.bytes();
    };
    std::memcpy(matrix.mutable_raw(), at(static_cast<const std::byte*>(stack.raw()), matrix),
                matrix.bytes());
    try {
      const QuantizedMatrix one = quantize_matrix(matrix, format, out_in);
      std::memcpy(at(static_cast<std::byte*>(result.value.mutable_raw()), one.q), one.q.raw(),
                  one.q.bytes());
      std::memcpy(at(static_cast<std::byte*>(result.scale.mutable_raw()), one.scale),
                  one.scale.raw(), one.scale.bytes());
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("matrix {}: {}", i, e.what()));
    }
  }
  return result;
}

std::vector<Tensors> convert(const std::vector<WeightMatrix>& chosen, const VariableStore& store,
                             const QuantizedWeights& weights) {
  std::vector<Tensors> result(chosen.size());
  Workers workers;
  workers.for_chunks(static_cast<std::int64_t>(chosen.size()), [&](std::int64_t chunk, int) {
    const auto i = static_cast<std::size_t>(chunk);
    const std::string& name = chosen[i].name;
    const Tensor matrix = store.tensor(name);
    const WeightFormat format = weights.at(name).format;
    try {
      const auto quantized = quantized_format(format);
      if (format == WeightFormat::bf16) {
        result[i].value = (chosen[i].out_in ? matrix : transposed(matrix)).to(DType::bf16);
      } else if (matrix.rank() == 3) {
        result[i] = quantized_stack(matrix, *quantized, chosen[i].out_in);
      } else {
        const QuantizedMatrix made = quantize_matrix(matrix, *quantized, chosen[i].out_in);
        result[i] = {made.q, made.scale};
      }
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("{}: {}", name, e.what()));
    }
  });
  return result;
}

// Moves all tensors into one allocation, because they are read in sequence.
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

/// Adds all variables of `graph` that `to` does not contain, except caches, to it. The tensors are
/// shared with `from`.
void share_others(const Graph& graph, const VariableStore& from, VariableStore& to) {
  for (const Variable& variable : graph.variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind == VariableKind::cache || to.contains(info.name)) continue;
    to.insert(info.name, info.kind, from.tensor(info.name));
  }
}

/// Returns the f32 matrix that programs read.
Tensor widened(const QuantizedWeight& w, const VariableStore& store, const QuantizedRead& read) {
  const Tensor stored = store.tensor(read.stored.name());
  if (w.format == WeightFormat::bf16) {
    const Tensor wide = stored.to(DType::f32);
    return w.out_in ? wide : transposed(wide);
  }
  // Not builtin_ops(): this file would then link all kernels into static programs that list their
  // own operation families.
  const OpSet& ops = read.stored.graph().ops();
  return evaluate_op(ops.at("dequantize"), {stored, store.tensor(read.scale.name())},
                     {{"inputs", w.inputs}, {"outputs", w.outputs}, {"transposed", w.out_in}})[0];
}

/// Throws ArgumentError if the options for inputs contradict each other.
void check_activations(const Graph& source, const QuantizeOptions& options) {
  const bool rounded = options.activations == ActivationFormat::int8;
  if (rounded && options.weights == WeightFormat::bf16) {
    throw ArgumentError(
        "bf16 weights cannot be combined with int8 activations: choose int8, q8_0 or int4 weights");
  }
  for (const auto& [name, scale] : options.activation_scales) {
    if (!rounded)
      throw ArgumentError("static scales of activations require the activation format int8");
    if (!source.has_variable(name)) {
      throw ArgumentError(fmt::format(
          "there is a static scale for {}, which does not exist: use the names of matrices", name));
    }
    // fake_quantize returns NaN for other scales.
    if (!(scale >= 0x1p-100F && scale <= 0x1p100F)) {
      throw ArgumentError(
          fmt::format("the static scale of {} must be in [2^-100, 2^100], not {}", name, scale));
    }
  }
}

/// Returns the format of each chosen matrix.
QuantizedWeights chosen_formats(const std::vector<WeightMatrix>& chosen,
                                const QuantizeOptions& options) {
  std::set<std::string> kept;
  for (const WeightMatrix& m :
       select_matrices(chosen, options.keep, "matrix that can be kept in bf16"))
    kept.insert(m.name);
  QuantizedWeights weights;
  for (const WeightMatrix& m : chosen) {
    QuantizedWeight w{options.weights, m.inputs(), m.outputs(), m.out_in, m.stack()};
    if (kept.contains(m.name)) w.format = WeightFormat::bf16;
    if (w.format != WeightFormat::bf16 && w.stack == 0 && m.multiplied)
      w.activations = options.activations;
    const auto scale = options.activation_scales.find(m.name);
    if (w.activations == ActivationFormat::int8 && scale != options.activation_scales.end())
      w.activation_scale = scale->second;
    weights.emplace(m.name, w);
  }
  return weights;
}

}  // namespace

QuantizedModel quantize(const std::vector<Program>& programs, const VariableStore& store,
                        const QuantizeOptions& options) {
  Graph& source = common_graph(programs, "programs whose weights can be converted");
  store.check_whole("quantised");
  check_not_trained(programs, options);
  check_activations(source, options);
  const std::vector<WeightMatrix> chosen =
      select_matrices(weight_matrices(source, programs, {.embeddings = true, .stacks = true}),
                      options.patterns, "matrix that can be converted");
  const QuantizedWeights weights = chosen_formats(chosen, options);
  std::vector<Tensors> tensors = convert(chosen, store, weights);
  gather(tensors);

  RewrittenPrograms rewritten = with_quantized(programs, weights, options.caches);
  QuantizedModel result{rewritten.graph,
                        std::move(rewritten.programs),
                        std::make_shared<VariableStore>(),
                        {},
                        rewritten.narrow_caches};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const VariableInfo& info = Variable(chosen[i].value).info();
    std::size_t bytes = 0, part = 0;
    const QuantizedWeight& weight = weights.at(info.name);
    for (const std::string& name : stored_names(info.name, weight.format)) {
      const Tensor& tensor = part++ == 0 ? tensors[i].value : tensors[i].scale;
      result.store->insert(name, info.kind, tensor.read_only());
      bytes += tensor.bytes();
    }
    result.weights.push_back(
        {info.name, info.type.str(), store.tensor(info.name).bytes(), bytes, weight});
  }
  share_others(*result.graph, store, *result.store);
  return result;
}

QuantizedModel dequantize(const std::vector<Program>& programs, const VariableStore& store,
                          const std::vector<std::string>& patterns) {
  Graph& source = common_graph(programs, "programs whose weights can be dequantised");
  store.check_whole("dequantised");
  std::vector<QuantizedRead> reads = quantized_reads(source);
  std::erase_if(reads,
                [&](const QuantizedRead& read) { return !matches_any(patterns, read.name); });
  if (reads.empty()) throw ArgumentError("the programs read no quantised weights");
  RewrittenPrograms rewritten = without_quantized(programs, patterns);
  QuantizedModel result{
      rewritten.graph, std::move(rewritten.programs), std::make_shared<VariableStore>(), {}, 0};
  for (const QuantizedRead& read : reads) {
    if (!result.graph->has_variable(read.name)) continue;  // no program reads it
    std::size_t bytes = 0;
    for (const std::string& name : stored_names(read.name, read.weight.format))
      bytes += store.tensor(name).bytes();
    Tensor wide = widened(read.weight, store, read);
    result.weights.push_back({read.name, std::string(weight_format_name(read.weight.format)), bytes,
                              wide.bytes(), read.weight});
    result.store->insert(read.name, VariableKind::parameter, std::move(wide));
  }
  share_others(*result.graph, store, *result.store);
  return result;
}

}  // namespace weft
