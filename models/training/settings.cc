#include "weft/models/training/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/models/fields/check.h"
#include "weft/models/fields/read_json.h"
#include "weft/models/plots/svg_plot.h"

namespace weft {
namespace {

constexpr std::string_view kPrecisions[] = {"highest", "high", "medium"};
constexpr std::string_view kLearningRates[] = {"cosine", "linear", "inverse_sqrt", "constant"};

using CurvePoints = TrainHistory::Points;

CurvePoints read_points(const nlohmann::json& parsed, const std::string& key) {
  const auto it = parsed.find(key);
  if (it == parsed.end() || !it->is_array())
    throw FormatError(fmt::format("the training history does not contain the list '{}'", key));
  CurvePoints points;
  for (const auto& entry : *it) {
    // Losses that are not finite are stored as null.
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_integer() ||
        !(entry[1].is_number() || entry[1].is_null())) {
      throw FormatError(
          fmt::format("the training history contains the entry {} in '{}'; expected [step, loss]",
                      json_excerpt(entry), key));
    }
    points.emplace_back(entry[0].get<std::int64_t>(), entry[1].is_null()
                                                          ? std::numeric_limits<double>::quiet_NaN()
                                                          : entry[1].get<double>());
  }
  return points;
}

std::vector<std::int64_t> read_batches(const nlohmann::json& parsed, std::size_t evaluations) {
  const auto it =
      parsed.find("validation_batches");  // missing from files written by the first versions
  if (it == parsed.end()) return {};
  const bool fits =
      it->is_array() && it->size() <= evaluations &&
      std::all_of(it->begin(), it->end(), [](const auto& n) { return n.is_number_integer(); });
  if (!fits) {
    throw FormatError(
        "the training history: 'validation_batches' must be a list of integers, at most one for "
        "each entry of 'validation'");
  }
  return it->get<std::vector<std::int64_t>>();
}

}  // namespace

ChoiceNames choice_names(Precision) { return {"precision", kPrecisions}; }

template <>
std::string_view choice_name<Precision>(Precision precision) {
  return precision_name(precision);
}

template <>
Precision parse_choice<Precision>(std::string_view name) {
  return parse_precision(name);  // the values of Precision do not start at 0
}

ChoiceNames choice_names(LearningRate) { return {"schedule", kLearningRates}; }

void TrainSettings::check() const {
  check::at_least("steps", steps, 1);
  check::at_least("batch", batch, 1);
  // These limits are far above any real run. They catch mistakes and ensure that sums of steps fit
  // in 64 bits.
  constexpr std::int64_t kMaxSteps = 1'000'000'000, kMaxRows = std::int64_t{1} << 24;
  check::at_most({{"steps", steps, kMaxSteps}, {"batch", batch, kMaxRows}});
  check::at_least("warmup", warmup, 0);
  check::at_least("eval_every", eval_every, 0);
  check::at_least("eval_batches", eval_batches, 0);
  check::at_least("save_every", save_every, 0);
  check::at_least("patience", patience, 0);
  check::at_least("shards", shards, 1);
  check::at_most({{"shards", shards, batch}});
  check_shards(static_cast<int>(shards), 1);
  check::in_range("ema", ema, 0, 0.9999999);
  check::at_least("skip_nonfinite", skip_nonfinite, 0);
  if (patience > 0 && eval_every == 0)
    throw ArgumentError("patience counts periodic evaluations: eval_every must be at least 1");
  // The decay of inverse_sqrt does not depend on the number of steps that follow the warm-up.
  const bool fits = schedule == LearningRate::inverse_sqrt ? warmup <= steps : warmup < steps;
  if (!fits && warmup > 0)
    throw ArgumentError(fmt::format("warmup must be less than steps ({}), not {}", steps, warmup));
  if (schedule == LearningRate::inverse_sqrt && warmup == 0)
    throw ArgumentError("warmup must be at least 1 if the schedule is inverse_sqrt");
  check::in_range("lr", lr, 0, 1000);
  check::in_range("min_lr", min_lr, 0, lr);
  check::in_range("beta1", beta1, 0, 0.9999999);
  check::in_range("beta2", beta2, 0, 0.9999999);
  check::in_range("weight_decay", weight_decay, 0, 1000);
  check::in_range("validation_fraction", validation_fraction, 0, 0.9);
  if (!(clip >= 0 && std::isfinite(clip)))
    throw ArgumentError(
        fmt::format("clip must be finite and at least 0 (0 = no clipping), not {}", clip));
}

const FieldList<TrainSettings>& TrainSettings::fields() {
  static const auto list =
      FieldList<TrainSettings>("the training settings")
          .add("steps", &TrainSettings::steps, "total number of training steps")
          .add("batch", &TrainSettings::batch, "examples per step")
          .added("shards", &TrainSettings::shards,
                 "number of shards per batch, a power of two; shards are computed one after "
                 "another, so that a large batch needs only the memory of one shard")
          .add("lr", &TrainSettings::lr, "learning rate after warm-up")
          .add("min_lr", &TrainSettings::min_lr,
               "learning rate at the last step if the schedule is cosine or linear")
          .added("schedule", &TrainSettings::schedule, "learning-rate schedule after warm-up")
          .add("warmup", &TrainSettings::warmup, "steps of linear warm-up")
          .added("optimizer", &TrainSettings::optimizer,
                 "optimizer; the learning rate of adafactor is relative to parameter magnitude; "
                 "lion needs a third to a tenth of adamw's learning rate, adagrad a larger one")
          .add("beta1", &TrainSettings::beta1,
               "adamw, adam: decay of the running mean of gradients; lion: weight of the momentum "
               "in the update direction; sgd: momentum")
          .add("beta2", &TrainSettings::beta2,
               "adamw, adam: decay of the running mean of squared gradients; lion: decay of the "
               "momentum")
          .add("weight_decay", &TrainSettings::weight_decay,
               "weight decay of parameters with two or more axes")
          .add("clip", &TrainSettings::clip, "maximum global gradient norm; 0 = no clipping")
          .add("validation_fraction", &TrainSettings::validation_fraction,
               "fraction of the data that is held out for validation")
          .added("ema", &TrainSettings::ema,
                 "decay of the exponential moving average of the weights, which is used for "
                 "evaluation and saved next to the model; 0 = no average")
          .add("seed", &TrainSettings::seed,
               "random seed for initial values, batches and dropout; runs with the same seed are "
               "bit-identical")
          .added("precision", &TrainSettings::precision, "precision of matrix products")
          .add("eval_every", &TrainSettings::eval_every,
               "steps between evaluations; 0 = only at the end")
          .add("eval_batches", &TrainSettings::eval_batches,
               "batches per periodic evaluation; 0 = all held-out data")
          .add("save_every", &TrainSettings::save_every,
               "steps between checkpoints; 0 = only at the end")
          .added("patience", &TrainSettings::patience,
                 "early stopping: end the run after this many consecutive periodic evaluations "
                 "without a better loss; "
                 "0 = never")
          .added("skip_nonfinite", &TrainSettings::skip_nonfinite,
                 "maximum number of consecutive steps that are skipped because the loss or "
                 "gradient norm is not finite; 0 = such a step ends the run");
  return list;
}

std::string TrainSettings::to_json() const { return fields().to_json(*this); }

TrainSettings TrainSettings::from_json(std::string_view text) { return fields().from_json(text); }

void TrainHistory::add(std::int64_t step, const Evaluation& found, std::int64_t batches) {
  validation_batches.resize(validation.size(), kUnknownBatches);
  validation.emplace_back(step, found.loss);
  validation_batches.push_back(batches);
  for (const Metric& metric : found.metrics) metrics[metric.name].emplace_back(step, metric.value);
}

bool TrainHistory::has_evaluation(std::int64_t step, std::int64_t batches) const {
  const std::size_t known = std::min(validation.size(), validation_batches.size());
  for (std::size_t i = 0; i < known; ++i) {
    if (validation[i].first == step && validation_batches[i] == batches) return true;
  }
  return false;
}

BestEvaluation TrainHistory::best(std::int64_t batches) const {
  BestEvaluation best;
  const std::size_t known = std::min(validation.size(), validation_batches.size());
  for (std::size_t i = 0; i < known; ++i) {
    if (validation_batches[i] != batches) continue;
    const auto& [step, loss] = validation[i];
    if (std::isfinite(loss) && (std::isnan(best.loss) || loss < best.loss)) {
      best = {.step = step, .loss = loss};
    } else {
      ++best.since;
    }
  }
  return best;
}

std::string TrainHistory::to_json() const {
  return nlohmann::json{{"train", train},
                        {"validation", validation},
                        {"metrics", metrics},
                        {"validation_batches", validation_batches},
                        {"data", data}}
      .dump();
}

TrainHistory TrainHistory::from_json(std::string_view text) {
  const auto parsed = parse_json_object(text, "the training history");
  TrainHistory history{.train = read_points(parsed, "train"),
                       .validation = read_points(parsed, "validation")};
  history.validation_batches = read_batches(parsed, history.validation.size());
  if (const auto found = parsed.find("data"); found != parsed.end())
    read_json(*found, "data", history.data);
  const auto metrics = parsed.find("metrics");  // missing from files written by the first version
  if (metrics == parsed.end()) return history;
  if (!metrics->is_object()) throw FormatError("the training history: 'metrics' must be an object");
  for (const auto& [name, points] : metrics->items())
    history.metrics[name] = read_points(*metrics, name);
  return history;
}

std::string TrainHistory::svg(std::string_view title, std::string_view unit) const {
  PlotSeries losses{"training", {}, true}, some{"validation", {}, false},
      whole{"validation, whole set", {}, false};
  for (const auto& [step, loss] : train) losses.points.emplace_back(step, loss);
  for (std::size_t i = 0; i < validation.size(); ++i) {
    const bool all = i < validation_batches.size() && validation_batches[i] == 0;
    (all ? whole : some).points.emplace_back(validation[i].first, validation[i].second);
  }
  std::vector<PlotSeries> series = {losses};
  for (const PlotSeries& evaluations : {some, whole}) {
    if (!evaluations.points.empty()) series.push_back(evaluations);
  }
  return svg_line_plot(
      series,
      {.title = std::string(title), .x_label = "step", .y_label = fmt::format("loss ({})", unit)});
}

}  // namespace weft
