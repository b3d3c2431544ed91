// TrainSettings: everything that decides the numbers of a training run, besides model and data; and
// what such a run measures.
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

/// How the learning rate goes on after the warm-up: down to min_lr at the last step along a cosine
/// or a line, or as lr * sqrt(warmup / step) (Vaswani et al. 2017), or not at all.
enum class LearningRate { cosine, linear, inverse_sqrt, constant };
ChoiceNames choice_names(LearningRate);

/// What makes a step of gradients (autodiff/optimizers has the formulas and papers).
enum class Optimizer { adamw, adam, sgd, adafactor, lion };
ChoiceNames choice_names(Optimizer);

/// How a model is trained: an optimizer with warm-up and a schedule.
struct TrainSettings {
  std::int64_t steps = 2000;
  /// Of a step: windows of text (each of the model's context), sentences or images.
  std::int64_t batch = 12;
  /// The batch of a step is cut into so many shards, a power of two: each is computed by itself, so
  /// that a step takes the memory of one, and their gradients are added along a tree. The loss is
  /// the mean over the batch, whatever counts in which shard.
  std::int64_t shards = 1;
  double lr = 1e-3;
  double min_lr = 1e-4;  // at the last step, where the schedule is cosine or linear
  LearningRate schedule = LearningRate::cosine;
  std::int64_t warmup = 100;  // steps of linear warm-up
  Optimizer optimizer = Optimizer::adamw;
  double beta1 = 0.9;   // adamw, adam, lion; sgd: momentum
  double beta2 = 0.99;  // adamw, adam, lion
  /// Of parameters with two or more axes. adamw, lion and adafactor shrink the parameter itself,
  /// adam and sgd add it to the gradient.
  double weight_decay = 0.1;
  double clip = 1.0;                 // of the global gradient norm; 0 = never
  double validation_fraction = 0.1;  // of the data, where it has no held-out part of its own
  /// Decay of moving averages of the weights (Polyak and Juditsky 1992), which are then what is
  /// evaluated; 0 = none are kept.
  double ema = 0;
  std::uint64_t seed = 1337;
  Precision precision = Precision::highest;  // of matrix products
  std::int64_t eval_every = 250;             // steps between evaluations; 0 = only at the end
  /// Batches of a periodic evaluation, spread evenly over the held-out data; 0 = all of them. The
  /// last evaluation always covers all.
  std::int64_t eval_batches = 20;
  std::int64_t save_every = 500;  // steps between checkpoints; 0 = only at the end
  /// Ends the run once this many periodic evaluations in a row brought no better loss; 0 = never.
  std::int64_t patience = 0;
  /// Steps whose loss or gradient norm is not finite are skipped, at most so many in a row; 0 =
  /// such a step ends the run. A skipped step changes no parameter and no moment and does not count
  /// as a step; the next one takes the next batch.
  std::int64_t skip_nonfinite = 0;

  /// How a training's loss becomes one number: the mean over the batch, or over its shards.
  Reduction loss_reduction() const { return shards > 1 ? Reduction::shard_mean : Reduction::mean; }
  /// `batch`, of a shard (rounded up): as many as an evaluation computes at once, too.
  std::int64_t shard_batch() const { return (batch + shards - 1) / shards; }
  /// How many of these a periodic evaluation is of, 0 = all.
  std::int64_t eval_shards() const { return eval_batches * shards; }
  /// The evaluations that are compared with each other are those over as many held-out batches as
  /// the periodic ones; where there are none of these, those over all (0).
  std::int64_t compared_batches() const { return eval_every > 0 ? eval_batches : 0; }

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<TrainSettings>& fields();
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

/// The best of some evaluations.
struct BestEvaluation {
  std::int64_t step = 0;
  /// NaN where there is none: no evaluation yet, or no loss that is finite.
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t since = 0;  // evaluations after it: none of them was better
};

/// Losses and metrics so far: what the curves show. Travels with checkpoints.
struct TrainHistory {
  using Points = std::vector<std::pair<std::int64_t, double>>;
  /// Files of the first versions do not say what an evaluation covered.
  static constexpr std::int64_t kUnknownBatches = -1;

  Points train = {};                           // (step, loss) of every step
  Points validation = {};                      // (step, loss) of every evaluation
  std::map<std::string, Points> metrics = {};  // by name: (step, value) of every evaluation
  /// Held-out batches that each entry of `validation` covers, 0 = all; entries beyond its end are
  /// kUnknownBatches.
  std::vector<std::int64_t> validation_batches = {};
  /// A word for the data that the run learned from, which a run that goes on must have again; empty
  /// where it is not known, as in files of the first versions.
  std::string data = {};

  /// Adds an evaluation over that many held-out batches.
  void add(std::int64_t step, const Evaluation& found, std::int64_t batches);
  /// Whether this step was evaluated over that many held-out batches.
  bool has_evaluation(std::int64_t step, std::int64_t batches) const;
  /// The lowest loss (of equal ones the first) of the evaluations over that many held-out batches.
  /// A loss over some batches says nothing about one over others or over all: they differ by more
  /// than a model does between two evaluations. So only these are compared.
  BestEvaluation best(std::int64_t batches) const;

  std::string to_json() const;
  /// Throws FormatError.
  static TrainHistory from_json(std::string_view json);
  /// The loss curve as an SVG document; `unit` is the loss's.
  std::string svg(std::string_view title, std::string_view unit = "nats") const;
};

}  // namespace weft
