// Quantisation of trained models with calibration: static scales of activations, sensitive matrices
// kept in bf16, and a report on every matrix.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/weights/activation_aware.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// Evaluates a model on calibration data, for example with TaskRun::measure().
using MeasureModel = std::function<Evaluation(const TrainedModel& model)>;

/// Options of quantize_model().
struct QuantizeModelOptions {
  /// Formats and matrices. For models with adapters, see quantized_patterns().
  QuantizeOptions weights = {};
  /// Uses one scale per matrix for int8 activations, which is chosen on the calibration data,
  /// instead of one scale per row. Matrices without inputs in the calibration data keep scales per
  /// row.
  bool static_scales = false;
  /// Chooses the static scales so that this percentage of the inputs is not clipped
  /// (calibrate.h), instead of the scales with the smallest errors.
  std::optional<double> activation_percentile = {};
  /// Scales weights before they are quantised so that channels with large inputs in the calibration
  /// data are rounded more precisely (activation_aware.h). The weights must not be bf16.
  bool activation_aware = false;
  /// Keeps the fewest matrices in bf16 with which the loss on the calibration data increases by at
  /// most this value (in the unit of the loss). Matrices are kept in the order of the loss with
  /// only this matrix quantised, so this option evaluates the model once per matrix.
  std::optional<double> max_loss_increase = {};
  /// Measures the errors in QuantizationReport.
  bool measure_errors = false;
};

/// A converted matrix. Values that were not measured are absent.
struct MatrixReport {
  std::string name, type;  // type of the original: "f32[768, 2304]"
  WeightFormat weights = WeightFormat::int8;
  ActivationFormat activations = ActivationFormat::none;
  std::optional<double> activation_scale = {};  // absent for scales per row
  std::size_t bytes_before = 0, bytes_after = 0;
  std::optional<double> weight_error = {};  // |W - W'| / |W|, Frobenius norms
  /// |y - y'| / |y| over the calibration data, for the inputs that the original model computes.
  std::optional<double> output_error = {};
  friend bool operator==(const MatrixReport&, const MatrixReport&) = default;
};

/// Report on a quantised model.
struct QuantizationReport {
  std::vector<MatrixReport> matrices = {};                  // in declaration order
  std::optional<double> loss_before = {}, loss_after = {};  // on the calibration data

  /// Returns a JSON object in which values that were not measured are null.
  std::string to_json() const;
  /// The inverse of to_json(). Throws FormatError for invalid JSON, missing keys and values of the
  /// wrong type.
  static QuantizationReport from_json(std::string_view json);
  /// Returns a table with one line per matrix, and "-" for values that were not measured.
  std::string table() const;
  friend bool operator==(const QuantizationReport&, const QuantizationReport&) = default;
};

/// A quantised model without its training step.
struct QuantizedTrainedModel {
  std::unique_ptr<TrainedModel> model;
  QuantizedModel made;
  QuantizationReport report;
  std::vector<ScaledMatrices> scaled = {};  // with QuantizeModelOptions::activation_aware
};

/// Returns a quantised copy of the model. `measure` is required by the options static_scales,
/// activation_aware and max_loss_increase, and for output errors. It is called once or more for
/// each of these options, with copies of the model that have the same programs. Throws
/// ArgumentError if it is missing or if `max_loss_increase` is negative or not finite, and
/// DataError if the loss is not finite or if the increase cannot be met even when all matrices are
/// bf16. Also throws the exceptions of quantize() and `measure`.
QuantizedTrainedModel quantize_model(const TrainedModel& model, const QuantizeModelOptions& options,
                                     const MeasureModel& measure = {});

/// Returns a copy of the model that does not round the inputs of its quantised matrices, for
/// example to write a file that cannot express the rounding. Throws ArgumentError if the model
/// rounds no inputs.
std::unique_ptr<TrainedModel> with_float_inputs(const TrainedModel& model);

}  // namespace weft
