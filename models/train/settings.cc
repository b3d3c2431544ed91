#include "weft/models/train/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/json_fields.h"
#include "weft/models/train/svg_plot.h"

namespace weft {
namespace {

const auto kFields = [](auto& s, auto&& visit) {
  visit("steps", s.steps);
  visit("batch", s.batch);
  visit("lr", s.lr);
  visit("min_lr", s.min_lr);
  visit("schedule", s.schedule, json_fields::Added{});
  visit("warmup", s.warmup);
  visit("beta1", s.beta1);
  visit("beta2", s.beta2);
  visit("weight_decay", s.weight_decay);
  visit("clip", s.clip);
  visit("validation_fraction", s.validation_fraction);
  visit("seed", s.seed);
  visit("precision", s.precision, json_fields::Added{});
  visit("eval_every", s.eval_every);
  visit("eval_batches", s.eval_batches);
  visit("save_every", s.save_every);
  visit("patience", s.patience, json_fields::Added{});
  visit("skip_nonfinite", s.skip_nonfinite, json_fields::Added{});
};

using Points = TrainHistory::Points;

Points read_points(const json_fields::json& parsed, const std::string& key) {
  const auto it = parsed.find(key);
  if (it == parsed.end() || !it->is_array())
    throw FormatError(fmt::format("the training history lacks the list '{}'", key));
  Points points;
  for (const auto& entry : *it) {
    // A loss that was not finite is written as null.
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_integer() ||
        !(entry[1].is_number() || entry[1].is_null())) {
      throw FormatError(
          fmt::format("the training history has the entry {} in '{}'; expected [step, loss]",
                      json_excerpt(entry), key));
    }
    points.emplace_back(entry[0].get<std::int64_t>(), entry[1].is_null()
                                                          ? std::numeric_limits<double>::quiet_NaN()
                                                          : entry[1].get<double>());
  }
  return points;
}

std::vector<std::int64_t> read_batches(const json_fields::json& parsed, std::size_t evaluations) {
  const auto it = parsed.find("validation_batches");  // the first versions' files have none
  if (it == parsed.end()) return {};
  const bool fits =
      it->is_array() && it->size() <= evaluations &&
      std::all_of(it->begin(), it->end(), [](const auto& n) { return n.is_number_integer(); });
  if (!fits) {
    throw FormatError(
        "the training history has 'validation_batches' that are no list of integers, one for each "
        "entry of 'validation'");
  }
  return it->get<std::vector<std::int64_t>>();
}

}  // namespace

void parse_field(std::string_view name, LearningRate& r) {
  r = json_fields::parse_choice<LearningRate>(kLearningRates, name, "schedule");
}

void TrainSettings::check() const {
  const auto at_least = [](std::string_view name, std::int64_t value, std::int64_t least) {
    if (value < least)
      throw ArgumentError(fmt::format("{} must be at least {}, not {}", name, least, value));
  };
  at_least("steps", steps, 1);
  at_least("batch", batch, 1);
  // Far beyond any run: what is more is a slip, and sums of steps fit 64 bits.
  constexpr std::int64_t kMostSteps = 1'000'000'000, kMostRows = std::int64_t{1} << 24;
  size_limits::check({{"steps", steps, kMostSteps}, {"batch", batch, kMostRows}});
  at_least("warmup", warmup, 0);
  at_least("eval_every", eval_every, 0);
  at_least("eval_batches", eval_batches, 0);
  at_least("save_every", save_every, 0);
  at_least("patience", patience, 0);
  at_least("skip_nonfinite", skip_nonfinite, 0);
  if (patience > 0 && eval_every == 0)
    throw ArgumentError("patience counts periodic evaluations: eval_every must be at least 1");
  if (warmup >= steps && warmup > 0)
    throw ArgumentError(fmt::format("warmup must be less than steps ({}), not {}", steps, warmup));
  if (schedule == LearningRate::inverse_sqrt && warmup == 0)
    throw ArgumentError("warmup must be at least 1 where the schedule is inverse_sqrt");
  const auto in_range = [](std::string_view name, double value, double low, double high) {
    if (!(value >= low && value <= high))
      throw ArgumentError(fmt::format("{} must be in [{}, {}], not {}", name, low, high, value));
  };
  in_range("lr", lr, 0, 1000);
  in_range("min_lr", min_lr, 0, lr);
  in_range("beta1", beta1, 0, 0.9999999);
  in_range("beta2", beta2, 0, 0.9999999);
  in_range("weight_decay", weight_decay, 0, 1000);
  in_range("validation_fraction", validation_fraction, 0, 0.9);
  if (!(clip >= 0 && std::isfinite(clip)))
    throw ArgumentError(fmt::format("clip must be 0 (never) or more, and finite, not {}", clip));
}

std::string TrainSettings::to_json() const {
  return json_fields::write_object(*this, kFields).dump();
}

TrainSettings TrainSettings::from_json(std::string_view text) {
  const auto parsed = json_fields::parse_object(text, "the training settings");
  TrainSettings settings;
  json_fields::read_object(parsed, settings, kFields, "the training settings");
  settings.check();
  return settings;
}

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
  return json_fields::json{{"train", train},
                           {"validation", validation},
                           {"metrics", metrics},
                           {"validation_batches", validation_batches},
                           {"data", data}}
      .dump();
}

TrainHistory TrainHistory::from_json(std::string_view text) {
  const auto parsed = json_fields::parse_object(text, "the training history");
  TrainHistory history{.train = read_points(parsed, "train"),
                       .validation = read_points(parsed, "validation")};
  history.validation_batches = read_batches(parsed, history.validation.size());
  if (const auto found = parsed.find("data"); found != parsed.end())
    json_fields::read(*found, "data", history.data);
  const auto metrics = parsed.find("metrics");  // the first version's files have none
  if (metrics == parsed.end()) return history;
  if (!metrics->is_object())
    throw FormatError("the training history has 'metrics' that are no object");
  for (const auto& [name, points] : metrics->items())
    history.metrics[name] = read_points(*metrics, name);
  return history;
}

std::string TrainHistory::svg(std::string_view title, std::string_view unit) const {
  PlotSeries losses{"training", {}, true}, some{"validation", {}, false},
      whole{"validation, all of it", {}, false};
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
