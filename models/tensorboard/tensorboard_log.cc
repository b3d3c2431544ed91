#include "weft/models/tensorboard/tensorboard_log.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

void add_json(const std::string& prefix, const nlohmann::json& object,
              EventWriter::HyperParameters& to) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      add_json(prefix + name + ".", value, to);
    } else if (value.is_boolean()) {
      to[prefix + name] = value.get<bool>();
    } else if (value.is_number()) {
      to[prefix + name] = value.get<double>();
    } else {
      to[prefix + name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
}

}  // namespace

void TensorBoardLog::on_step(const StepReport& r) {
  events_.scalars(r.step, {{"loss/train", r.loss},
                           {"learning_rate", r.learning_rate},
                           {"gradient_norm", r.gradient_norm},
                           {"speed/" + std::string(r.unit) + "_per_second", r.items_per_second}});
  if (every_ == 0 || r.step % every_ != 0) return;
  for (const Variable& parameter : session_->graph().parameters())
    events_.histogram("parameters/" + parameter.name(), r.step, session_->value(parameter.name()));
}

void TensorBoardLog::on_skip(const SkipReport& r) {
  events_.scalars(r.step, {{"loss/skipped", r.loss}, {"gradient_norm/skipped", r.gradient_norm}});
}

void TensorBoardLog::on_evaluation(std::int64_t step, const Evaluation& found, bool whole) {
  const std::string part = whole ? "validation" : "validation_part";
  std::vector<std::pair<std::string, double>> values{{"loss/" + part, found.loss}};
  for (const Metric& metric : found.metrics)
    values.emplace_back(part + "/" + metric.name, metric.value);
  events_.scalars(step, values);
  events_.flush();
}

void TensorBoardLog::on_gradient(std::int64_t step, const std::string& parameter,
                                 const Tensor& gradient) {
  events_.histogram("gradients/" + parameter, step, gradient);
}

void TensorBoardLog::on_checkpoint(std::int64_t) { events_.flush(); }

EventWriter::HyperParameters hyper_parameters(const TrainedModel& model) {
  EventWriter::HyperParameters result;
  if (!model.task.empty()) result["task"] = model.task;
  add_json("", nlohmann::json::parse(model.settings.to_json()), result);
  // The first part of every model type is its config.
  if (const auto config = model.layout().parts.front().write(model))
    add_json("model.", nlohmann::json::parse(config->bytes), result);
  return result;
}

}  // namespace weft
