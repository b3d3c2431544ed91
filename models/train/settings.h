// TrainSettings: everything that decides the numbers of a training run, besides model and data; and
// what such a run measures.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/ops/precision.h"

namespace weft {

// For JSON.
inline std::string_view field_name(Precision p) { return precision_name(p); }
inline void parse_field(std::string_view name, Precision& p) { p = parse_precision(name); }

/// How the learning rate goes on after the warm-up: down to min_lr at the last step along a cosine
/// or a line, or as lr * sqrt(warmup / step) (Vaswani et al. 2017), or not at all.
enum class LearningRate { cosine, linear, inverse_sqrt, constant };
inline constexpr std::array<std::string_view, 4> kLearningRates = {"cosine", "linear",
                                                                   "inverse_sqrt", "constant"};
inline std::string_view field_name(LearningRate r) {
  return kLearningRates[static_cast<std::size_t>(r)];
}
/// Throws ArgumentError that lists the schedules.
void parse_field(std::string_view name, LearningRate& r);

/// How a model is trained: AdamW with warm-up and a schedule.
struct TrainSettings {
  std::int64_t steps = 2000;
  std::int64_t batch = 12;  // windows of text (each of the model's context), sentences or images
  double lr = 1e-3;
  double min_lr = 1e-4;  // at the last step, where the schedule is cosine or linear
  LearningRate schedule = LearningRate::cosine;
  std::int64_t warmup = 100;  // steps of linear warm-up
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.1;         // of parameters with two or more axes
  double clip = 1.0;                 // of the global gradient norm; 0 = never
  double validation_fraction = 0.1;  // of the data, where it has no held-out part of its own
  std::uint64_t seed = 1337;
  Precision precision = Precision::highest;  // of matrix products
  std::int64_t eval_every = 250;             // steps between evaluations; 0 = only at the end
  /// Batches of a periodic evaluation, spread evenly over the held-out data; 0 = all of them. The
  /// last evaluation always covers all.
  std::int64_t eval_batches = 20;
  std::int64_t save_every = 500;  // steps between checkpoints; 0 = only at the end

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static TrainSettings from_json(std::string_view json);
  friend bool operator==(const TrainSettings&, const TrainSettings&) = default;
};

/// A figure besides the loss: {"accuracy", 0.975}.
struct Metric {
  std::string name;
  double value = 0;
};

/// What was measured on held-out data.
struct Evaluation {
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::vector<Metric> metrics = {};
};

/// Losses and metrics so far: what the curves show. Travels with checkpoints.
struct TrainHistory {
  using Points = std::vector<std::pair<std::int64_t, double>>;
  Points train = {};                           // (step, loss) of every step
  Points validation = {};                      // (step, loss) of every evaluation
  std::map<std::string, Points> metrics = {};  // by name: (step, value) of every evaluation

  std::string to_json() const;
  /// Throws FormatError.
  static TrainHistory from_json(std::string_view json);
  /// The loss curve as an SVG document.
  std::string svg(std::string_view title) const;
};

}  // namespace weft
