#include "weft/graph/weights/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/weights/matrices.h"

namespace weft {
namespace {

constexpr const char *kLargest = ".input_largest", *kTotal = ".input_total",
                     *kSquares = ".input_squares", *kClipping = ".clipping_errors",
                     *kMagnitudes = ".magnitudes", *kError = ".output_error",
                     *kEnergy = ".output_energy";
constexpr int kLevels = 127;
constexpr int kFractions = 12;
constexpr double kStep = 0.85;
// All fractions of the scale of larger inputs are scales that fake_quantize accepts.
constexpr double kLeastInput = 0x1p-90;
// Bin b of magnitudes ends at largest * 2^(-b / kBinsPerOctave). The last one contains all smaller
// magnitudes.
constexpr std::int64_t kBinsPerOctave = 32, kMagnitudeBins = 32 * kBinsPerOctave;

/// A statistic of one product, and how the values of several products are combined.
struct Statistic {
  const char* suffix;  // of the buffer's name
  Value value;
  bool is_largest = false;  // true: maximum, false: sum
};

/// A product with an observed matrix, in the copy.
struct Product {
  const Node& node;
  Value x, w, y;
};
using Observe = std::function<std::vector<Statistic>(const WeightMatrix&, const Product&)>;

Value combined(const Value& a, const Statistic& b) {
  return b.is_largest ? maximum(a, b.value) : a + b.value;
}

/// Adds the statistics of all products in a program as updates of its copy.
void observe_program(const Program& program, Program& copy,
                     const std::map<std::string, WeightMatrix>& matrices, Cloner& cloner,
                     const Observe& observe) {
  std::unordered_map<Value, const WeightMatrix*, ValueHash> values;
  for (const auto& [name, matrix] : matrices) values.emplace(matrix.value, &matrix);
  std::map<std::string, Statistic> statistics;
  for (Node* node : program.nodes()) {
    if (!is(*node, "matmul") || node->attributes().flag("transpose_a")) continue;
    const auto found = values.find(node->input(1));
    if (found == values.end() || node->input(0).rank() < 2) continue;
    const WeightMatrix& matrix = *found->second;
    const Product product{*node, cloner.copy(node->input(0)), cloner.copy(node->input(1)),
                          cloner.copy(node->output(0))};
    for (const Statistic& statistic : observe(matrix, product)) {
      const auto [entry, is_new] = statistics.emplace(matrix.name + statistic.suffix, statistic);
      if (!is_new) entry->second.value = combined(entry->second.value, statistic);
    }
  }
  Graph& graph = cloner.target();
  for (const auto& [name, statistic] : statistics) {
    const Variable buffer =
        graph.has_variable(name)
            ? graph.find_variable(name)
            : graph.variable(name, statistic.value.type(), {.kind = VariableKind::buffer}, {});
    copy.update(buffer, combined(buffer, statistic), {});
  }
}

/// Copies the programs and observes products with `chosen`. `more` are further parameters by name,
/// which `observe` may read.
ObservedModel observe(const std::vector<Program>& programs, const VariableStore& store,
                      const std::vector<WeightMatrix>& chosen, const Observe& observe,
                      const std::map<std::string, Tensor>& more = {}) {
  Graph& source = common_graph(programs, "programs to observe");
  store.check_whole("observed");
  ObservedModel result;
  result.graph = empty_graph_like(source);
  result.store = std::make_shared<VariableStore>();
  Cloner cloner(*result.graph);
  std::map<std::string, WeightMatrix> matrices;
  for (const WeightMatrix& matrix : chosen) {
    matrices.emplace(matrix.name, matrix);
    result.matrices.push_back(matrix.name);
  }
  for (const auto& [name, value] : more) {
    result.graph->variable(name, {value.dtype(), Shape(value.sizes())}, {.trainable = false}, {});
    result.store->insert(name, VariableKind::parameter, value);
  }
  for (const Program& program : programs) {
    if (program.graph() == nullptr) continue;
    Program copy = copy_program(program, cloner);
    observe_program(program, copy, matrices, cloner, observe);
    result.programs.push_back(std::move(copy));
  }
  copy_names(source, cloner);
  for (const Variable& variable : result.graph->variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind == VariableKind::cache || result.store->contains(info.name)) continue;
    if (store.contains(info.name)) {
      result.store->insert(info.name, info.kind, store.tensor(info.name));
    } else if (!source.has_variable(info.name)) {
      result.store->insert(info.name, info.kind,
                           Tensor::zeros(info.type.dtype, info.type.shape.evaluate({})));
    }
  }
  return result;
}

/// Returns all axes of x except for the last one.
Axes row_axes(const Value& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()) - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Returns the matrices that the programs multiply by.
std::vector<WeightMatrix> multiplied(const std::vector<Program>& programs) {
  Graph& source = common_graph(programs, "programs to observe");
  std::vector<WeightMatrix> matrices = weight_matrices(source, programs, {.embeddings = true});
  std::erase_if(matrices, [](const WeightMatrix& matrix) { return !matrix.multiplied; });
  return matrices;
}

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) largest = std::max(largest, tensor.at(i));
  return largest;
}

/// Returns the matrices with inputs that reach kLeastInput.
std::vector<WeightMatrix> with_inputs(const std::vector<Program>& programs,
                                      const std::map<std::string, InputStatistics>& inputs) {
  std::vector<WeightMatrix> chosen = multiplied(programs);
  std::erase_if(chosen, [&](const WeightMatrix& matrix) {
    const auto found = inputs.find(matrix.name);
    return found == inputs.end() || !(largest_of(found->second.largest) >= kLeastInput);
  });
  return chosen;
}

std::string rounded_name(const std::string& matrix) { return matrix + ".rounded"; }

}  // namespace

ObservedModel observe_inputs(const std::vector<Program>& programs, const VariableStore& store,
                             const std::vector<std::string>& patterns) {
  return observe(programs, store,
                 select_matrices(multiplied(programs), patterns, "matrix with inputs"),
                 [](const WeightMatrix&, const Product& product) -> std::vector<Statistic> {
                   const Value magnitude = abs(product.x);
                   return {{kLargest, max(magnitude, row_axes(product.x)), true},
                           {kTotal, sum(magnitude, row_axes(product.x))},
                           {kSquares, sum(square(product.x), row_axes(product.x))}};
                 });
}

std::map<std::string, InputStatistics> input_statistics(const ObservedModel& observed) {
  std::map<std::string, InputStatistics> result;
  for (const std::string& name : observed.matrices) {
    if (!observed.store->contains(name + kLargest)) continue;
    result[name] = {observed.store->tensor(name + kLargest), observed.store->tensor(name + kTotal),
                    observed.store->tensor(name + kSquares)};
  }
  return result;
}

ObservedModel observe_scales(const std::vector<Program>& programs, const VariableStore& store,
                             const std::map<std::string, InputStatistics>& inputs) {
  return observe(programs, store, with_inputs(programs, inputs),
                 [&](const WeightMatrix& matrix, const Product& product) -> std::vector<Statistic> {
                   Graph& graph = product.x.graph();
                   const Value weight = sum(square(product.w), matrix.out_in ? 0 : 1);
                   double scale = largest_of(inputs.at(matrix.name).largest) / kLevels;
                   std::vector<Value> errors;
                   for (int i = 0; i < kFractions; ++i, scale *= kStep) {
                     const Value constant = graph.scalar(DType::f32, static_cast<float>(scale), {});
                     const Value rounded =
                         graph.apply("fake_quantize", {product.x, constant}, {}, {}).output(0);
                     errors.push_back(sum(square(product.x - rounded) * weight));
                   }
                   return {{kClipping, stack(errors, 0)}};
                 });
}

std::map<std::string, float, std::less<>> best_scales(
    const ObservedModel& observed, const std::map<std::string, InputStatistics>& inputs) {
  std::map<std::string, float, std::less<>> result;
  for (const std::string& name : observed.matrices) {
    if (!observed.store->contains(name + kClipping)) continue;
    const Tensor errors = observed.store->tensor(name + kClipping);
    const float* first = errors.data<float>();
    const auto best = std::min_element(first, first + kFractions) - first;
    result[name] = static_cast<float>(largest_of(inputs.at(name).largest) / kLevels *
                                      std::pow(kStep, static_cast<double>(best)));
  }
  return result;
}

ObservedModel observe_magnitudes(const std::vector<Program>& programs, const VariableStore& store,
                                 const std::map<std::string, InputStatistics>& inputs) {
  return observe(
      programs, store, with_inputs(programs, inputs),
      [&](const WeightMatrix& matrix, const Product& product) -> std::vector<Statistic> {
        const Value magnitude = abs(product.x);
        const Value octaves = log(largest_of(inputs.at(matrix.name).largest) / magnitude) *
                              (static_cast<double>(kBinsPerOctave) / std::log(2.0));
        const Value bin =
            cast(floor(clamp(octaves, 0, static_cast<double>(kMagnitudeBins - 1))), DType::i32);
        const Value bins = zeros(product.x.graph(), DType::i64, {kMagnitudeBins});
        return {{kMagnitudes, index_add(bins, bin, cast(magnitude >= 0, DType::i64))}};
      });
}

std::map<std::string, float, std::less<>> percentile_scales(
    const ObservedModel& observed, const std::map<std::string, InputStatistics>& inputs,
    double percentile) {
  if (!(percentile > 0 && percentile <= 100)) {
    throw ArgumentError(fmt::format(
        "the percentile of activations must be above 0 and at most 100, not {}", percentile));
  }
  std::map<std::string, float, std::less<>> result;
  for (const std::string& name : observed.matrices) {
    if (!observed.store->contains(name + kMagnitudes)) continue;
    const Tensor counts = observed.store->tensor(name + kMagnitudes);
    double total = 0, clipped = 0;
    for (std::int64_t i = 0; i < kMagnitudeBins; ++i) total += counts.at(i);
    std::int64_t bin = 0;  // all magnitudes in the bins before it are clipped
    while (bin < kMagnitudeBins - 1 && clipped + counts.at(bin) <= total * (1 - percentile / 100))
      clipped += counts.at(bin++);
    result[name] = static_cast<float>(
        largest_of(inputs.at(name).largest) / kLevels *
        std::exp2(-static_cast<double>(bin) / static_cast<double>(kBinsPerOctave)));
  }
  return result;
}

ObservedModel observe_errors(const std::vector<Program>& programs, const VariableStore& store,
                             const QuantizedModel& quantized) {
  const QuantizedModel floats = dequantize(quantized.programs, *quantized.store);
  std::map<std::string, QuantizedWeight> weights;
  for (const ConvertedWeight& converted : quantized.weights)
    weights.emplace(converted.name, converted.weight);
  std::vector<WeightMatrix> chosen = multiplied(programs);
  std::erase_if(chosen, [&](const WeightMatrix& matrix) { return !weights.contains(matrix.name); });
  std::map<std::string, Tensor> rounded;
  for (const WeightMatrix& matrix : chosen)
    rounded.emplace(rounded_name(matrix.name), floats.store->tensor(matrix.name));
  return observe(
      programs, store, chosen,
      [&](const WeightMatrix& matrix, const Product& product) -> std::vector<Statistic> {
        Graph& graph = product.x.graph();
        const QuantizedWeight& weight = weights.at(matrix.name);
        const Value w = graph.find_variable(rounded_name(matrix.name));
        const Value x = rounded_operand(product.x, weight);
        const Value y = graph.apply("matmul", {x, w}, product.node.attributes(), {}).output(0);
        return {{kError, sum(square(y - product.y))}, {kEnergy, sum(square(product.y))}};
      },
      rounded);
}

std::map<std::string, double> output_errors(const ObservedModel& observed) {
  std::map<std::string, double> result;
  for (const std::string& name : observed.matrices) {
    if (!observed.store->contains(name + kError)) continue;
    const double error = observed.store->tensor(name + kError).at(0);
    const double energy = observed.store->tensor(name + kEnergy).at(0);
    if (energy > 0) result[name] = std::sqrt(error / energy);
  }
  return result;
}

std::map<std::string, double> weight_errors(const VariableStore& store,
                                            const QuantizedModel& quantized) {
  const QuantizedModel floats = dequantize(quantized.programs, *quantized.store);
  std::map<std::string, double> result;
  for (const ConvertedWeight& converted : quantized.weights) {
    if (!floats.store->contains(converted.name)) continue;  // no program reads it
    const Tensor before = store.tensor(converted.name),
                 after = floats.store->tensor(converted.name);
    const float *a = before.data<float>(), *b = after.data<float>();
    double error = 0, energy = 0;
    for (std::int64_t i = 0; i < before.numel(); ++i) {
      error += std::pow(static_cast<double>(a[i]) - b[i], 2);
      energy += std::pow(static_cast<double>(a[i]), 2);
    }
    result[converted.name] = energy > 0 ? std::sqrt(error / energy) : 0;
  }
  return result;
}

}  // namespace weft
