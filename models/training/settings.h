// TrainSettings: everything that determines a training run apart from the model and the data.
// TrainHistory: the losses and metrics of a training run.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/functions/loss.h"
#include "weft/models/fields/field_list.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

/// "highest", "high", "medium".
ChoiceNames choice_names(Precision);
template <>
std::string_view choice_name<Precision>(Precision precision);
template <>
Precision parse_choice<Precision>(std::string_view name);

/// The learning-rate schedule after the warm-up: cosine or linear decay to min_lr at the last step,
/// lr * sqrt(warmup / step) (Vaswani et al. 2017), or constant.
enum class LearningRate { cosine, linear, inverse_sqrt, constant };
ChoiceNames choice_names(LearningRate);

/// The optimizer, which computes updates from gradients. The formulas and papers are in
/// autodiff/optimizers, and the uses of the settings in optimizers.cc.
enum class Optimizer { adamw, adam, sgd, adagrad, adafactor, lion };
ChoiceNames choice_names(Optimizer);

/// Settings of a training run: batches, optimizer, learning-rate schedule, evaluations and
/// checkpoints.
struct TrainSettings {
  std::int64_t steps = 2000;
  /// Examples per step: windows of text (each as long as the model's context), sentences or images.
  std::int64_t batch = 12;
  /// Number of shards that each batch is split into, a power of two. Shards are computed
  /// separately, so a step needs only the memory of one shard, and their gradients are summed in a
  /// tree. The loss is the mean over the whole batch, even if shards have different numbers of
  /// targets.
  std::int64_t shards = 1;
  double lr = 1e-3;
  /// Learning rate at the last step if the schedule is cosine or linear.
  double min_lr = 1e-4;
  LearningRate schedule = LearningRate::cosine;
  std::int64_t warmup = 100;  // number of linear warm-up steps
  Optimizer optimizer = Optimizer::adamw;
  double beta1 = 0.9;  // adamw, adam: decay of the mean gradient; sgd: momentum; lion: see fields()
  double beta2 = 0.99;  // adamw, adam: decay of the mean squared gradient; lion: see fields()
  /// Weight decay for parameters with two or more axes. It is decoupled (applied to the parameter
  /// itself) in adamw, lion and adafactor; adam, sgd and adagrad add it to the gradient.
  double weight_decay = 0.1;
  double clip = 1.0;  // maximum global gradient norm; 0 = no clipping
  /// Fraction of the data that is held out if there is no separate held-out set.
  double validation_fraction = 0.1;
  /// Decay of the exponential moving average of the weights (Polyak and Juditsky 1992), which is
  /// then used for evaluation; 0 = no average.
  double ema = 0;
  std::uint64_t seed = 1337;
  Precision precision = Precision::highest;  // of matrix products
  std::int64_t eval_every = 250;             // steps between evaluations; 0 = only at the end
  /// Batches per periodic evaluation, spread evenly over the held-out data; 0 = all of them. The
  /// last evaluation always covers all held-out data.
  std::int64_t eval_batches = 20;
  std::int64_t save_every = 500;  // steps between checkpoints; 0 = only at the end
  /// Early stopping: ends the run after this many consecutive periodic evaluations without a lower
  /// loss; 0 = never.
  std::int64_t patience = 0;
  /// Maximum number of consecutive steps that are skipped because the loss or gradient norm is not
  /// finite; 0 = such a step ends the run. A skipped step changes neither parameters nor moments
  /// and does not count as a step; the next step uses the next batch.
  std::int64_t skip_nonfinite = 0;

  /// Returns the loss reduction to use in training programs: `mean`, or `shard_mean` if a batch has
  /// several shards.
  Reduction loss_reduction() const { return shards > 1 ? Reduction::shard_mean : Reduction::mean; }
  /// Returns the number of examples per shard (rounded up). Evaluations use the same batch size.
  std::int64_t shard_batch() const { return (batch + shards - 1) / shards; }
  /// Returns the number of shards that a periodic evaluation covers; 0 = all held-out data.
  std::int64_t eval_shards() const { return eval_batches * shards; }
  /// Returns the number of held-out batches in the evaluations that are compared with each other:
  /// the number in a periodic evaluation, or 0 (all held-out data) if there are no periodic
  /// evaluations.
  std::int64_t compared_batches() const { return eval_every > 0 ? eval_batches : 0; }

  /// Throws an ArgumentError that names the field, its value and the allowed values.
  void check() const;
  /// Returns the list of all fields with their help texts.
  static const FieldList<TrainSettings>& fields();
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or of the wrong type. Throws ArgumentError
  /// under the same conditions as check().
  static TrainSettings from_json(std::string_view json);
  friend bool operator==(const TrainSettings&, const TrainSettings&) = default;
};

/// A metric other than the loss: {"accuracy", 0.975}.
struct Metric {
  std::string name;
  double value = 0;
};

/// Result of an evaluation on held-out data.
struct Evaluation {
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::vector<Metric> metrics = {};
};

/// The best evaluation so far.
struct BestEvaluation {
  std::int64_t step = 0;
  /// NaN if there is no evaluation with a finite loss yet.
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t since = 0;  // number of evaluations since then, none of which was better
};

/// The losses and metrics of a run so far, which are plotted as curves. Saved in checkpoints.
struct TrainHistory {
  using Points = std::vector<std::pair<std::int64_t, double>>;
  /// Files written by the first versions do not record how many batches an evaluation covered.
  static constexpr std::int64_t kUnknownBatches = -1;

  Points train = {};                           // (step, loss) of every step
  Points validation = {};                      // (step, loss) of every evaluation
  std::map<std::string, Points> metrics = {};  // by name: (step, value) of every evaluation
  /// Number of held-out batches that each entry of `validation` covers; 0 = all. Missing entries at
  /// the end are treated as kUnknownBatches.
  std::vector<std::int64_t> validation_batches = {};
  /// Fingerprint of the training data, which must be the same when the run is resumed. Empty if it
  /// is unknown, as in files written by the first versions.
  std::string data = {};

  /// Adds an evaluation over `batches` held-out batches (0 = all).
  void add(std::int64_t step, const Evaluation& found, std::int64_t batches);
  /// Returns true if `step` was evaluated over `batches` held-out batches.
  bool has_evaluation(std::int64_t step, std::int64_t batches) const;
  /// Returns the evaluation with the lowest loss among the evaluations over `batches` held-out
  /// batches; ties: the first. Evaluations over different parts of the held-out data are not
  /// compared, because losses differ more between the parts than between two consecutive
  /// evaluations.
  BestEvaluation best(std::int64_t batches) const;

  std::string to_json() const;
  /// Throws FormatError if the JSON is invalid.
  static TrainHistory from_json(std::string_view json);
  /// Returns an SVG document with the loss curve; `unit` is the unit of the loss.
  std::string svg(std::string_view title, std::string_view unit = "nats") const;
};

}  // namespace weft
