#include "weft/models/tasks/common/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/optimizers.h"

namespace weft {
std::string TaskRun::measure_report(Session& session, const TrainedModel& model) {
  const Evaluation found = measure(session, model);
  std::string line =
      fmt::format("validation loss {:.5f}", require_finite(found.loss, "the validation loss"));
  for (const Metric& metric : found.metrics)
    line +=
        fmt::format(", {} {:.4f}", metric.name, require_finite(metric.value, "the " + metric.name));
  return line + "\n";
}

std::unique_ptr<TrainedModel> Task::from_folder(const hf::Folder&, const FolderTokenizer&) const {
  return nullptr;
}

namespace {

/// Adds the settings that follow from the given ones, so that no default contradicts an option.
FieldTexts with_dependent_settings(const TrainSettings& base, FieldTexts training) {
  const auto schedule = training.find("schedule");
  const bool needs_warmup =
      (schedule == training.end() ? base.schedule : parse_choice<LearningRate>(schedule->second)) ==
      LearningRate::inverse_sqrt;
  if (!training.contains("warmup")) {
    std::int64_t warmup = base.warmup;
    // Warm-up takes at most a tenth of the given steps, but at least one step.
    if (training.contains("steps")) {
      const std::int64_t steps = parse_integer("--steps", training["steps"]);
      warmup = std::min(warmup, std::max<std::int64_t>(steps > 1 ? 1 : 0, steps / 10));
    }
    training["warmup"] = std::to_string(needs_warmup ? std::max<std::int64_t>(warmup, 1) : warmup);
  }
  if (training.contains("lr") && !training.contains("min_lr")) {
    const double lr = parse_real("--lr", training["lr"]);
    if (lr >= 0 && lr < base.min_lr)
      training["min_lr"] = fmt::format("{}", lr * (base.min_lr / base.lr));
  }
  return training;
}

}  // namespace

TrainSettings chosen_settings(const TrainSettings& base, const FieldTexts& given) {
  TrainSettings settings = TrainSettings::fields().with(base, with_dependent_settings(base, given));
  const TrainOptimizer& optimizer = train_optimizer(settings.optimizer);
  if (!optimizer.uses_preset_decay && !given.contains("weight_decay")) settings.weight_decay = 0;
  for (const auto& [field, used] :
       {std::pair("beta1", optimizer.uses_beta1), std::pair("beta2", optimizer.uses_beta2)}) {
    if (!used && given.contains(field)) {
      throw ArgumentError(fmt::format("--{} has no effect with the optimizer {}: leave it out",
                                      field, optimizer.name));
    }
  }
  const LearningRate schedule = settings.schedule;
  if (given.contains("min_lr") && schedule != LearningRate::cosine &&
      schedule != LearningRate::linear) {
    throw ArgumentError(fmt::format(
        "--min-lr is the final learning rate of a cosine or linear schedule; the schedule is {}",
        choice_name(schedule)));
  }
  return settings;
}

std::int64_t table_rows(std::int64_t known, const Tokenizer& tokenizer, const TaskArguments& args) {
  return args.from ? std::max(known, tokenizer.vocab_size()) : tokenizer.vocab_size();
}

std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const std::vector<std::string>& also_new) {
  if (!args.from) return std::nullopt;
  return start_weights(model, args, args.from->weights, also_new);
}

std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const TensorMap& weights,
                                        const std::vector<std::string>& also_new) {
  model.origin = args.from->origin;
  std::vector<std::string> reinit = args.reinit;
  reinit.insert(reinit.end(), also_new.begin(), also_new.end());
  try {
    keep_quantized(model, *args.from, reinit);
    return load_weights(*model.store, *model.graph, weights, args.from->source, reinit);
  } catch (const FormatError& e) {
    throw ArgumentError(e.what());  // the file is valid, but does not match the requested model
  }
}

std::vector<std::string> mismatched_head_parameters(const TaskArguments& args,
                                                    const std::vector<std::string>& classes) {
  if (args.from && args.from->classes != classes) return {"classifier.*"};
  return {};
}

double require_finite(double value, std::string_view what) {
  if (std::isfinite(value)) return value;
  throw DataError(fmt::format(
      "{} is {}: the model's weights are damaged, or training diverged (weft verify checks "
      "the file)",
      what, value));
}

}  // namespace weft
