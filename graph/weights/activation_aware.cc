#include "weft/graph/weights/activation_aware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/weights/matrices.h"
#include "weft/ops/op.h"
#include "weft/ops/quantized/quantized.h"

namespace weft {
namespace {

constexpr int kSteps = 20;  // alpha = step / kSteps

/// A norm with affine parameters, and the matrices that read its output.
struct Group {
  std::string gain, bias;  // bias may be empty
  std::vector<WeightMatrix> matrices;
};

bool is_norm(const Value& value) { return is(value, "layer_norm") || is(value, "rms_norm"); }

/// Returns the name of the f32 parameter with `size` elements that `value` reads, or "".
std::string vector_name(const Value& value, std::int64_t size) {
  if (!is(value, "variable")) return "";
  const VariableInfo& info = Variable(value).info();
  const bool fits = info.kind == VariableKind::parameter && info.type.dtype == DType::f32 &&
                    info.type.shape == Shape(Sizes{size});
  return fits ? info.name : "";
}

/// Finds the groups of matrices that can be scaled.
class GroupFinder {
 public:
  GroupFinder(Graph& graph, const std::vector<Program>& programs,
              const std::vector<std::string>& patterns)
      : graph_(graph), consumers_(programs.begin(), programs.end()) {
    for (WeightMatrix& matrix : weight_matrices(graph, programs)) {
      if (matches_any(patterns, matrix.name)) matrices_.emplace(matrix.name, std::move(matrix));
    }
  }

  std::vector<Group> find() const {
    std::map<std::string, Group> groups;  // by gain
    for (const auto& [name, matrix] : matrices_) {
      const std::optional<Group> norm = norm_of(matrix);
      if (norm) groups.emplace(norm->gain, *norm).first->second.matrices.push_back(matrix);
    }
    std::vector<Group> result;
    for (auto& [gain, group] : groups) {
      if (is_closed(group)) result.push_back(std::move(group));
    }
    return result;
  }

 private:
  /// Calls use(program, use) for each use of a value; returns false if the value is a root, or if
  /// any call returns false.
  template <class F>
  bool all_uses(const Value& value, const F& accept) const {
    for (const Consumers& program : consumers_) {
      if (program.is_root(value)) return false;
      for (const Use& use : program.uses(value)) {
        if (!accept(use)) return false;
      }
    }
    return true;
  }

  /// Returns the parameters of the norm if all products with the matrix read its output.
  std::optional<Group> norm_of(const WeightMatrix& matrix) const {
    std::optional<Group> found;
    const bool same = all_uses(matrix.value, [&](const Use& use) {
      const Value x = use.node->input(0);
      if (use.node->attributes().flag("transpose_a") || !is_norm(x)) return false;
      const Node& norm = x.node();
      Group group{vector_name(norm.input(1), matrix.inputs()), "", {}};
      if (norm.input(2).defined()) {
        group.bias = vector_name(norm.input(2), matrix.inputs());
        if (group.bias.empty()) return false;
      }
      if (group.gain.empty()) return false;
      if (!found) found = group;
      return found->gain == group.gain && found->bias == group.bias;
    });
    return same ? found : std::nullopt;
  }

  /// Returns true if nothing else reads the parameters of the norm and its outputs.
  bool is_closed(const Group& group) const {
    std::set<std::string> names;
    for (const WeightMatrix& matrix : group.matrices) names.insert(matrix.name);
    const auto multiplied = [&](const Use& use) {
      const Value w = use.node->input(1);
      return is(*use.node, "matmul") && use.operand == 0 && is(w, "variable") &&
             names.contains(Variable(w).name());
    };
    const auto parameter_of_norm = [&](std::size_t operand) {
      return [&, operand](const Use& use) {
        return is_norm(use.node->output(0)) && use.operand == operand &&
               all_uses(use.node->output(0), multiplied);
      };
    };
    return all_uses(graph_.find_variable(group.gain), parameter_of_norm(1)) &&
           (group.bias.empty() || all_uses(graph_.find_variable(group.bias), parameter_of_norm(2)));
  }

  Graph& graph_;
  std::vector<Consumers> consumers_;
  std::map<std::string, WeightMatrix> matrices_;
};

/// Returns the factors of the rows of W for one alpha; their geometric middle is 1.
std::vector<float> factors(const Tensor& total, double alpha) {
  std::vector<float> result(static_cast<std::size_t>(total.numel()), 1);
  double low = INFINITY, high = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double magnitude = total.at(static_cast<std::int64_t>(i));
    if (!(magnitude > 0) || !std::isfinite(magnitude)) continue;
    const double factor = std::pow(magnitude, alpha);
    low = std::min(low, factor);
    high = std::max(high, factor);
    result[i] = static_cast<float>(factor);
  }
  const double middle = std::sqrt(low * high);
  if (!(middle > 0) || !std::isfinite(middle)) return std::vector<float>(result.size(), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool used = total.at(static_cast<std::int64_t>(i)) > 0;
    // Beyond these limits, gains could overflow or underflow.
    result[i] = used ? static_cast<float>(std::clamp(result[i] / middle, 1e-4, 1e4)) : 1;
  }
  return result;
}

/// Returns the matrix with the row of input i multiplied by factors[i], or divided by it.
Tensor scaled(const Tensor& matrix, bool out_in, const std::vector<float>& factors, bool divide) {
  Tensor result = matrix.clone();
  float* w = result.mutable_data<float>();
  const std::int64_t rows = matrix.size(0), columns = matrix.size(1);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float factor = factors[static_cast<std::size_t>(out_in ? j : i)];
      w[i * columns + j] = divide ? w[i * columns + j] / factor : w[i * columns + j] * factor;
    }
  }
  return result;
}

Tensor divided(const Tensor& vector, const std::vector<float>& factors) {
  Tensor result = vector.clone();
  float* v = result.mutable_data<float>();
  for (std::size_t i = 0; i < factors.size(); ++i) v[i] /= factors[i];
  return result;
}

/// Returns the estimated squared error of the outputs if the scaled matrix is quantised.
double error_of(const WeightMatrix& matrix, const Tensor& weights, const Tensor& squares,
                const std::vector<float>& factors, QuantizedFormat format, const OpSet& ops) {
  const QuantizedMatrix q =
      quantize_matrix(scaled(weights, matrix.out_in, factors, false), format, matrix.out_in);
  const Tensor wide = evaluate_op(ops.at("dequantize"), {q.q, q.scale},
                                  {{"inputs", matrix.inputs()},
                                   {"outputs", matrix.outputs()},
                                   {"transposed", matrix.out_in}})[0];
  const Tensor rounded = scaled(wide, matrix.out_in, factors, true);
  const float *a = weights.data<float>(), *b = rounded.data<float>();
  const std::int64_t columns = weights.size(1);
  double error = 0;
  for (std::int64_t i = 0; i < weights.numel(); ++i) {
    const double square = squares.at(matrix.out_in ? i % columns : i / columns);
    error += square * std::pow(static_cast<double>(a[i]) - b[i], 2);
  }
  return error;
}

}  // namespace

ScaledWeights scale_weights(const std::vector<Program>& programs, const VariableStore& store,
                            const std::map<std::string, InputStatistics>& inputs,
                            QuantizedFormat format, const std::vector<std::string>& patterns) {
  Graph& graph = common_graph(programs, "programs with weights to scale");
  store.check_whole("scaled");
  const std::vector<Group> groups = GroupFinder(graph, programs, patterns).find();
  if (groups.empty()) {
    throw ArgumentError(
        "no matrix can be scaled: none reads only the output of a norm with a gain that nothing "
        "else reads");
  }
  for (const Group& group : groups) {
    for (const WeightMatrix& matrix : group.matrices) {
      if (inputs.contains(matrix.name)) continue;
      throw ArgumentError(fmt::format("there are no statistics of the inputs of {}", matrix.name));
    }
  }
  ScaledWeights result{std::make_shared<VariableStore>(), {}};
  result.groups.resize(groups.size());
  std::vector<std::map<std::string, Tensor>> changed(groups.size());
  Workers workers;
  workers.for_chunks(static_cast<std::int64_t>(groups.size()), [&](std::int64_t chunk, int) {
    const auto at = static_cast<std::size_t>(chunk);
    const Group& group = groups[at];
    ScaledMatrices& report = result.groups[at];
    report.gain = group.gain;
    std::vector<Tensor> weights;
    for (const WeightMatrix& matrix : group.matrices) {
      report.matrices.push_back(matrix.name);
      weights.push_back(store.tensor(matrix.name));
    }
    // All matrices of the group have the same inputs.
    const InputStatistics& statistics = inputs.at(group.matrices.front().name);
    std::vector<float> best;
    for (int step = 0; step <= kSteps; ++step) {
      const double alpha = static_cast<double>(step) / kSteps;
      std::vector<float> candidate = factors(statistics.total, alpha);
      double error = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        error += error_of(group.matrices[i], weights[i], statistics.squares, candidate, format,
                          graph.ops());
      }
      if (step == 0) report.error_before = error;
      if (step > 0 && !(error < report.error_after)) continue;
      report.alpha = alpha;
      report.error_after = error;
      best = std::move(candidate);
    }
    if (report.alpha == 0) return;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const WeightMatrix& matrix = group.matrices[i];
      changed[at][matrix.name] = scaled(weights[i], matrix.out_in, best, false);
    }
    for (const std::string& name : {group.gain, group.bias}) {
      if (!name.empty()) changed[at][name] = divided(store.tensor(name), best);
    }
  });
  std::map<std::string, Tensor> values;
  for (auto& group : changed) values.merge(group);
  for (const std::string& name : store.names()) {
    const auto found = values.find(name);
    result.store->insert(name, store.kind(name),
                         found == values.end() ? store.tensor(name) : found->second.read_only());
  }
  return result;
}

}  // namespace weft
