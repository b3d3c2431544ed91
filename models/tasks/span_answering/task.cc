#include "weft/models/tasks/span_answering/task.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/data_parts.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/span_answering/presets.h"
#include "weft/models/tasks/span_answering/span_training.h"

namespace weft {
namespace {

constexpr const char* kAnswerGroup = "Answers";
constexpr const char* kAnswerFilesRequired = "--data is required: JSON files in SQuAD format";
constexpr std::int64_t kShownAnswers = 5;

using SquadParts = DataParts<SquadData>;

/// Reads the data. Without --validation, a fraction of the --data contexts is held out for
/// validation.
SquadParts read_answer_parts(const OptionValues& values, const TrainSettings& settings) {
  return read_data_parts(values, kDataOption, kAnswerFilesRequired, settings, read_squad,
                         split_contexts);
}

class SpanAnsweringRun final : public RunOf<SpanAnswerer> {
 public:
  SpanAnsweringRun(std::unique_ptr<SpanAnswerer> model, SquadParts parts)
      : RunOf(std::move(model)),
        parts_(std::move(parts)),
        train_(span_rows(*model_, parts_.train)) {}

  std::string describe() override {
    std::string text = describe_encoder(model_->config, *model_->graph);
    text += fmt::format(
        "data      {} questions about {} texts for training ({} without an answer), {} for "
        "validation, {} for testing\n",
        grouped(parts_.train.size()), grouped(std::ssize(parts_.train.contexts)),
        grouped(parts_.train.unanswered()), grouped(parts_.validation.size()),
        grouped(parts_.test.size()));
    text += fmt::format(
        "windows   {} of at most {} tokens{}\n", grouped(std::ssize(train_.rows)), row_size(),
        train_.unseen == 0
            ? ""
            : fmt::format(", {} answers do not fit into any window", grouped(train_.unseen)));
    return text;
  }
  std::string batch_unit() const override { return "windows"; }
  std::int64_t row_size() const override {
    return std::min(model_->spans.window, model_->config.max_tokens());
  }

  TrainTask task(Session& session) override {
    if (parts_.train.size() == 0) throw ArgumentError(kAnswerFilesRequired);
    return span_answering_task(session, *model_, train_, parts_.validation);
  }

  std::string sample(Session& session) override {
    std::string line = format_answers(session, *model_, parts_.validation, 1);
    if (!line.empty()) line.pop_back();
    return line;
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    if (!parts_.has_held_out()) return {};
    return {measure_report(session, *model_) +
            format_answers(session, *model_, held_out(), kShownAnswers)};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return evaluation_of(score_spans(session, model_as<SpanAnswerer>(model), held_out()));
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const SpanAnsweringScores found =
        score_spans(session, model_as<SpanAnswerer>(model), held_out());
    return fmt::format("{:9} loss {:.4f}, exact match {:.4f}, F1 {:.4f} on {} questions\n",
                       parts_.has_test() ? "test" : "held out",
                       require_finite(found.loss, "the loss"), found.answers.exact_match(),
                       found.answers.f1(), grouped(found.answers.questions()));
  }

 private:
  const SquadData& held_out() const { return parts_.held_out("question"); }

  SquadParts parts_;
  SpanRows train_;
};

class SpanAnsweringTask final : public TaskOf<SpanAnswerer> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "span-answering",
        .family = "encoder",
        .name = "answer",
        .about = "question answering: find the text span that answers a question",
        .help = {{"batch", "text windows per step"},
                 {"validation_fraction",
                  "fraction of the --data texts (with their questions) held out for validation if "
                  "there is no --validation"}},
        .folders = "encoders ...ForQuestionAnswering"};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_data_parts(
        options,
        "JSON files in SQuAD 1.1 or 2.0 format, with texts, questions and answer positions");
    add_tokenizer(options, "bpe", true);
    return options.field_group(kAnswerGroup, SpanReading::fields());
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(span_answerer_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    check_data_parts(args, kDataOption, kAnswerFilesRequired);
    const Preset<EncoderConfig> preset = chosen_preset(span_answerer_presets(), args);
    SquadParts parts = read_answer_parts(args.options, preset.training);
    const SpanReading spans = SpanReading::fields().with({}, args.options.fields(kAnswerGroup));
    const auto [config, tokenizer, notes] = encoder_for(args, preset.model, parts.train);
    auto model = std::make_unique<SpanAnswerer>(
        build_span_answerer(config, tokenizer, spans, preset.training));
    auto loaded = start_weights(*model, args);
    return new_run<SpanAnsweringRun>(preset.name, std::move(loaded), notes, std::move(model),
                                     std::move(parts));
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<SpanAnswerer> model,
                                      const OptionValues& options) const override {
    SquadParts parts = read_answer_parts(options, model->settings);
    return std::make_unique<SpanAnsweringRun>(std::move(model), std::move(parts));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return span_answerer_of(folder, text);
  }

 private:
  /// Returns the encoder for a new model: a new encoder, or the config and tokenizer of the initial
  /// weights. The embedding table in the initial weights may have more rows than there are token
  /// ids.
  static NewEncoder encoder_for(const TaskArguments& args, const EncoderConfig& preset,
                                const SquadData& train) {
    const EncoderConfig base = base_config(preset, args);
    if (!args.from) return new_encoder(base, args, [&] { return train.texts(); });
    return {chosen_config(base, args), encoder_tokenizer(*args.from), {}};
  }
};

}  // namespace

const Task& span_answering_task() {
  static const SpanAnsweringTask task;
  return task;
}

}  // namespace weft
