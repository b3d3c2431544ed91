#include "weft/models/tasks/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/graph/weights/calibrate.h"
#include "weft/models/training/adapters.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "quantization";

/// Returns a copy of the model with other programs and variables.
std::unique_ptr<TrainedModel> with_programs(const TrainedModel& model,
                                            const std::shared_ptr<Graph>& graph,
                                            const std::vector<Program>& programs,
                                            const std::shared_ptr<VariableStore>& store) {
  auto copy = model.clone();
  copy->replace_programs(graph, programs);
  copy->store = store;
  return copy;
}

/// Quantises one model with different options, and measures the results.
class Quantizer {
 public:
  Quantizer(const TrainedModel& model, const QuantizeModelOptions& options,
            const MeasureModel& measure)
      : model_(without_training(model)),
        store_(model.store),
        options_(options),
        weights_(options.weights),
        measure_(measure) {
    model_->store = store_;
    check();
  }

  QuantizedTrainedModel run() {
    std::optional<double> loss_before;
    if (options_.max_loss_increase) loss_before = loss(*model_);
    std::vector<ScaledMatrices> scaled;
    if (options_.activation_aware) scaled = scale();
    if (options_.static_scales) choose_scales();
    QuantizedTrainedModel result = quantized(weights_);
    if (loss_before) result = within_bound(std::move(result), *loss_before);
    if (options_.measure_errors) measure_errors(result);
    result.report.loss_before = loss_before;
    result.scaled = std::move(scaled);
    return result;
  }

 private:
  void check() const {
    const auto required = [&](const char* what) {
      if (!measure_) throw ArgumentError(fmt::format("{} require calibration data", what));
    };
    if (options_.static_scales) required("static scales of activations");
    if (options_.static_scales && weights_.activations == ActivationFormat::none)
      throw ArgumentError("static scales of activations require the activation format int8");
    if (options_.activation_percentile && !options_.static_scales)
      throw ArgumentError("percentiles of activations are for static scales");
    if (options_.activation_aware) {
      required("activation-aware weights");
      if (weights_.weights == WeightFormat::bf16)
        throw ArgumentError("activation-aware scaling is for int8, q8_0 and int4 weights");
    }
    if (!options_.max_loss_increase) return;
    required("bounds on the loss");
    if (!(*options_.max_loss_increase >= 0 && std::isfinite(*options_.max_loss_increase))) {
      throw ArgumentError(
          fmt::format("the bound on the increase of the loss must be finite and not negative, not "
                      "{}",
                      *options_.max_loss_increase));
    }
  }

  double loss(const TrainedModel& model) const {
    const double loss = measure_(model).loss;
    if (std::isfinite(loss)) return loss;
    throw DataError(fmt::format("the loss on the calibration data is {}", loss));
  }

  void observe(const ObservedModel& observed) const {
    measure_(*with_programs(*model_, observed.graph, observed.programs, observed.store));
  }

  std::map<std::string, InputStatistics> observed_inputs() const {
    const ObservedModel observed = observe_inputs(model_->all_programs(), *store_);
    observe(observed);
    return input_statistics(observed);
  }

  std::vector<ScaledMatrices> scale() {
    ScaledWeights scaled = scale_weights(model_->all_programs(), *store_, observed_inputs(),
                                         *quantized_format(weights_.weights), weights_.patterns);
    store_ = scaled.store;
    model_->store = store_;
    return std::move(scaled.groups);
  }

  void choose_scales() {
    const std::vector<Program> programs = model_->all_programs();
    const auto inputs = observed_inputs();
    const std::optional<double> percentile = options_.activation_percentile;
    const ObservedModel scales = percentile ? observe_magnitudes(programs, *store_, inputs)
                                            : observe_scales(programs, *store_, inputs);
    observe(scales);
    weights_.activation_scales =
        percentile ? percentile_scales(scales, inputs, *percentile) : best_scales(scales, inputs);
  }

  QuantizedTrainedModel quantized(const QuantizeOptions& options) const {
    QuantizedTrainedModel result;
    result.made = quantize(model_->all_programs(), *store_, options);
    result.model =
        with_programs(*model_, result.made.graph, result.made.programs, result.made.store);
    for (const ConvertedWeight& converted : result.made.weights) {
      const QuantizedWeight& weight = converted.weight;
      MatrixReport matrix{converted.name,       converted.type, weight.format,
                          weight.activations,   std::nullopt,   converted.bytes_before,
                          converted.bytes_after};
      if (weight.activation_scale != 0) matrix.activation_scale = weight.activation_scale;
      result.report.matrices.push_back(std::move(matrix));
    }
    return result;
  }

  void measure_errors(QuantizedTrainedModel& result) const {
    const auto weights = weight_errors(*store_, result.made);
    std::map<std::string, double> outputs;
    if (measure_) {
      const ObservedModel observed = observe_errors(model_->all_programs(), *store_, result.made);
      observe(observed);
      outputs = output_errors(observed);
    }
    const auto find = [](const std::map<std::string, double>& errors, const std::string& name) {
      const auto found = errors.find(name);
      return found == errors.end() ? std::optional<double>() : found->second;
    };
    for (MatrixReport& matrix : result.report.matrices) {
      matrix.weight_error = find(weights, matrix.name);
      matrix.output_error = find(outputs, matrix.name);
    }
  }

  /// Returns the names of the quantised matrices, in descending order of the loss with only this
  /// matrix quantised. Errors of outputs do not predict the effect on the loss: the errors of a
  /// tied embedding table are small, but it is the input of all layers.
  std::vector<std::string> by_loss(const QuantizationReport& all) const {
    std::vector<std::pair<double, std::string>> losses;
    for (const MatrixReport& matrix : all.matrices) {
      if (matrix.weights == WeightFormat::bf16) continue;
      QuantizeOptions options = weights_;
      options.patterns = {matrix.name};
      options.keep.clear();
      options.caches = CacheFormat::f32;
      losses.emplace_back(loss(*quantized(options).model), matrix.name);
    }
    std::stable_sort(losses.begin(), losses.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> names;
    for (auto& [loss, name] : losses) names.push_back(std::move(name));
    return names;
  }

  /// Keeps the fewest matrices in bf16 that meet the bound, in descending order of their effect.
  /// Assumes that keeping more matrices does not increase the loss.
  QuantizedTrainedModel within_bound(QuantizedTrainedModel all, double before) const {
    const double bound = before + *options_.max_loss_increase;
    const auto measured = [&](QuantizedTrainedModel& made) {
      made.report.loss_after = loss(*made.model);
      return *made.report.loss_after <= bound;
    };
    if (measured(all)) return all;
    const std::vector<std::string> matrices = by_loss(all.report);
    const auto keeping = [&](std::size_t count) {
      QuantizeOptions options = weights_;
      for (std::size_t i = 0; i < count; ++i) options.keep.push_back(matrices[i]);
      return quantized(options);
    };
    QuantizedTrainedModel best = keeping(matrices.size());
    if (!measured(best)) {
      throw DataError(fmt::format(
          "the loss on the calibration data increases from {:.5f} to {:.5f} even if all {} "
          "matrices are bf16: allow an increase of more than {:g}",
          before, *best.report.loss_after, matrices.size(), *options_.max_loss_increase));
    }
    std::size_t too_few = 0, enough = matrices.size();
    while (enough - too_few > 1) {
      const std::size_t count = (too_few + enough) / 2;
      QuantizedTrainedModel made = keeping(count);
      if (measured(made)) {
        best = std::move(made);
        enough = count;
      } else {
        too_few = count;
      }
    }
    return best;
  }

  std::unique_ptr<TrainedModel> model_;
  std::shared_ptr<VariableStore> store_;
  const QuantizeModelOptions& options_;
  QuantizeOptions weights_;
  const MeasureModel& measure_;
};

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::optional<double> number_in(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::optional<double>() : value.get<double>();
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.5f}", *value) : "-";
}

}  // namespace

std::string QuantizationReport::to_json() const {
  Json json;
  json["report"] = kKind;
  json["loss_before"] = number(loss_before);
  json["loss_after"] = number(loss_after);
  json["matrices"] = Json::array();
  for (const MatrixReport& m : matrices) {
    Json matrix;
    matrix["name"] = m.name;
    matrix["type"] = m.type;
    matrix["weights"] = weight_format_name(m.weights);
    matrix["activations"] = activation_format_name(m.activations);
    matrix["activation_scale"] = number(m.activation_scale);
    matrix["bytes_before"] = m.bytes_before;
    matrix["bytes_after"] = m.bytes_after;
    matrix["weight_error"] = number(m.weight_error);
    matrix["output_error"] = number(m.output_error);
    json["matrices"].push_back(std::move(matrix));
  }
  return json.dump(2) + "\n";
}

QuantizationReport QuantizationReport::from_json(std::string_view text) {
  QuantizationReport report;
  try {
    const Json json = Json::parse(text);
    if (json.at("report") != kKind) throw FormatError("its key \"report\" is not \"quantization\"");
    report.loss_before = number_in(json, "loss_before");
    report.loss_after = number_in(json, "loss_after");
    for (const Json& m : json.at("matrices")) {
      report.matrices.push_back({m.at("name").get<std::string>(), m.at("type").get<std::string>(),
                                 parse_weight_format(m.at("weights").get<std::string>()),
                                 parse_activation_format(m.at("activations").get<std::string>()),
                                 number_in(m, "activation_scale"),
                                 m.at("bytes_before").get<std::size_t>(),
                                 m.at("bytes_after").get<std::size_t>(),
                                 number_in(m, "weight_error"), number_in(m, "output_error")});
    }
  } catch (const Json::exception& e) {
    throw FormatError(fmt::format("not a quantization report: {}", e.what()));
  } catch (const Error& e) {
    throw FormatError(fmt::format("not a quantization report: {}", e.what()));
  }
  return report;
}

std::string QuantizationReport::table() const {
  std::size_t width = 6;
  for (const MatrixReport& m : matrices) width = std::max(width, m.name.size());
  std::string text =
      fmt::format("{:<{}}  weights  activations  {:>12}  {:>12}  {:>12}  {:>12}\n", "matrix", width,
                  "bytes before", "bytes after", "weight error", "output error");
  for (const MatrixReport& m : matrices) {
    text += fmt::format("{:<{}}  {:<7}  {:<11}  {:>12}  {:>12}  {:>12}  {:>12}\n", m.name, width,
                        weight_format_name(m.weights),
                        m.activation_scale ? fmt::format("{} static", "int8")
                                           : std::string(activation_format_name(m.activations)),
                        m.bytes_before, m.bytes_after, cell(m.weight_error), cell(m.output_error));
  }
  return text;
}

QuantizedTrainedModel quantize_model(const TrainedModel& model, const QuantizeModelOptions& options,
                                     const MeasureModel& measure) {
  return Quantizer(model, options, measure).run();
}

std::unique_ptr<TrainedModel> with_float_inputs(const TrainedModel& model) {
  if (count_rounded_inputs(quantized_weights(*model.graph)) == 0)
    throw ArgumentError("the model has no activation rounding to drop");
  const RewrittenPrograms floats = without_rounded_inputs(model.all_programs());
  return with_programs(model, floats.graph, floats.programs, model.store);
}

}  // namespace weft
