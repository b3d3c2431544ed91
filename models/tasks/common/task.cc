#include "weft/models/tasks/common/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/training/adapters.h"

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

bool Task::can(Use use) const {
  const std::vector<Use>& uses = info().uses;
  return std::find(uses.begin(), uses.end(), use) != uses.end();
}

std::string Task::unsupported_use_message(Use use) const {
  static constexpr std::array<std::string_view, kUseNames.size()> kCannot = {
      "does not classify",           "does not tag words",   "does not predict masked words",
      "does not answer questions",   "has no text encoder",  "does not generate text",
      "does not hold conversations", "does not score texts", "does not translate"};
  std::vector<std::string> commands;
  for (const Use other : info().uses)
    commands.push_back(fmt::format("weft {}", choice_name(other)));
  return fmt::format("a {}, which {}; use it with {}", empty_model()->layout().kind,
                     kCannot[static_cast<std::size_t>(use)],
                     commands.empty() ? "weft train --from, which starts training from its weights"
                                      : list_names(commands));
}

std::vector<std::vector<ClassScore>> Task::classify(Session&, const TrainedModel&,
                                                    const std::vector<std::string>&,
                                                    const ClassifyOptions&) const {
  throw unsupported_use_error(Use::classify);
}

std::vector<TaggedText> Task::tag(Session&, const TrainedModel&, const std::vector<std::string>&,
                                  const TagOptions&) const {
  throw unsupported_use_error(Use::tag);
}

std::vector<std::vector<MaskedPosition>> Task::fill(Session&, const TrainedModel&,
                                                    const std::vector<std::string>&,
                                                    const FillOptions&) const {
  throw unsupported_use_error(Use::fill);
}

std::vector<std::vector<Answer>> Task::answer(Session&, const TrainedModel&,
                                              const std::vector<Question>&,
                                              const AnswerOptions&) const {
  throw unsupported_use_error(Use::answer);
}

std::vector<WrittenText> Task::translate(Session&, const TrainedModel&,
                                         const std::vector<std::string>&,
                                         const TranslateOptions&) const {
  throw unsupported_use_error(Use::translate);
}

std::unique_ptr<TextEncoder> Task::text_encoder(const TrainedModel&) const {
  throw unsupported_use_error(Use::embed);
}

std::unique_ptr<TextGenerator> Task::text_generator(Session&, const TrainedModel&) const {
  throw unsupported_use_error(Use::generate);
}

FormatError Task::unsupported_use_error(Use use) const {
  return FormatError(fmt::format("the model is {}", unsupported_use_message(use)));
}

TrainSettings chosen_settings(const TrainSettings& base, const FieldTexts& given) {
  FieldTexts training = given;
  // If `steps` is given without `warmup`, warm-up takes at most a tenth of the steps, but at least
  // one step, because some schedules require it.
  if (training.contains("steps") && !training.contains("warmup")) {
    const std::int64_t steps = parse_integer("--steps", training["steps"]);
    training["warmup"] = std::to_string(
        std::min(base.warmup, std::max<std::int64_t>(steps > 1 ? 1 : 0, steps / 10)));
  }
  TrainSettings settings = TrainSettings::fields().with(base, training);
  // The weight decay in presets is tuned for AdamW. For optimizers that add weight decay to
  // gradients or to relative steps, it is 0 unless it was set explicitly.
  const Optimizer optimizer = settings.optimizer;
  if (optimizer != Optimizer::adamw && optimizer != Optimizer::lion &&
      !given.contains("weight_decay"))
    settings.weight_decay = 0;
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
