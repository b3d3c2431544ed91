#include "weft/models/train/settings.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
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
                      entry.dump(), key));
    }
    points.emplace_back(entry[0].get<std::int64_t>(), entry[1].is_null()
                                                          ? std::numeric_limits<double>::quiet_NaN()
                                                          : entry[1].get<double>());
  }
  return points;
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
  at_least("warmup", warmup, 0);
  at_least("eval_every", eval_every, 0);
  at_least("eval_batches", eval_batches, 0);
  at_least("save_every", save_every, 0);
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
  if (!(clip >= 0))
    throw ArgumentError(fmt::format("clip must be 0 (never) or more, not {}", clip));
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

std::string TrainHistory::to_json() const {
  return json_fields::json{{"train", train}, {"validation", validation}, {"metrics", metrics}}
      .dump();
}

TrainHistory TrainHistory::from_json(std::string_view text) {
  const auto parsed = json_fields::parse_object(text, "the training history");
  TrainHistory history{read_points(parsed, "train"), read_points(parsed, "validation"), {}};
  const auto metrics = parsed.find("metrics");  // the first version's files have none
  if (metrics == parsed.end()) return history;
  if (!metrics->is_object())
    throw FormatError("the training history has 'metrics' that are no object");
  for (const auto& [name, points] : metrics->items())
    history.metrics[name] = read_points(*metrics, name);
  return history;
}

std::string TrainHistory::svg(std::string_view title) const {
  PlotSeries losses{"training", {}, true}, evaluations{"validation", {}, false};
  for (const auto& [step, loss] : train) losses.points.emplace_back(step, loss);
  for (const auto& [step, loss] : validation) evaluations.points.emplace_back(step, loss);
  return svg_line_plot({losses, evaluations},
                       {.title = std::string(title), .x_label = "step", .y_label = "loss (nats)"});
}

}  // namespace weft
