#include "weft/models/tasks/span_answering/task.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/span_answering/presets.h"
#include "weft/models/tasks/span_answering/span_training.h"

namespace weft {
namespace {

constexpr const char *kData = "--data", *kValidation = "--validation", *kTest = "--test";
constexpr const char* kGroup = "Answers";
constexpr const char* kFilesRequired = "--data is required: JSON files in SQuAD format";
constexpr std::int64_t kShownAnswers = 5;

/// Training, validation and test sets of a run. The training set may be empty if a model is only
/// evaluated; the other sets may be empty in any run.
struct SquadParts {
  SquadData train, validation, test;
};

/// Reads the data. Without --validation, a fraction of the --data contexts is held out for
/// validation. Throws ArgumentError if no data were given. Also throws the same exceptions as
/// read_squad.
SquadParts read_parts(const OptionValues& values, const TrainSettings& settings) {
  if (!values.has(kData) && !values.has(kValidation) && !values.has(kTest))
    throw ArgumentError(kFilesRequired);
  const auto read = [&](const char* option) {
    return read_squad(values.texts(option));  // empty if there are no files
  };
  SquadParts parts{read(kData), read(kValidation), read(kTest)};
  if (!values.has(kValidation)) {
    SquadSplit split = split_contexts(parts.train, settings.validation_fraction, settings.seed);
    parts.train = std::move(split.train);
    parts.validation = std::move(split.held_out);
  }
  return parts;
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
    if (parts_.train.size() == 0) throw ArgumentError(kFilesRequired);
    return span_answering_task(session, *model_, train_, parts_.validation);
  }

  std::string sample(Session& session) override {
    std::string line = format_answers(session, *model_, parts_.validation, 1);
    if (!line.empty()) line.pop_back();
    return line;
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    if (parts_.test.size() + parts_.validation.size() == 0) return {};
    return {measure_report(session, *model_) +
            format_answers(session, *model_, held_out(), kShownAnswers)};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return evaluation_of(score_spans(session, known(model), held_out()));
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const SpanAnsweringScores found = score_spans(session, known(model), held_out());
    return fmt::format("{:9} loss {:.4f}, exact match {:.4f}, F1 {:.4f} on {} questions\n",
                       parts_.test.size() > 0 ? "test" : "held out",
                       require_finite(found.loss, "the loss"), found.answers.exact_match(),
                       found.answers.f1(), grouped(found.answers.questions()));
  }

 private:
  /// Returns the test set if there is one, or else the validation set. Throws DataError if the set
  /// is empty.
  const SquadData& held_out() const {
    const SquadData& found = parts_.test.size() > 0 ? parts_.test : parts_.validation;
    if (found.size() == 0) throw DataError("no question was held out in training");
    return found;
  }

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
        .folders = "encoders ...ForQuestionAnswering",
        .uses = {Use::answer, Use::embed}};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options
        .files(kData,
               "JSON files in SQuAD 1.1 or 2.0 format, with texts, questions and answer positions")
        .files(kValidation,
               "files for validation, in the same format (default: a fraction of --data)")
        .files(kTest, "files for a single evaluation at the end, in the same format")
        .data();
    add_tokenizer(options, "bpe", true);
    return options.field_group(kGroup, SpanReading::fields());
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(span_answerer_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    if (!args.options.has(kData)) throw ArgumentError(kFilesRequired);
    if (args.options.has(kValidation) && args.training.contains("validation_fraction")) {
      throw ArgumentError(
          "--validation-fraction applies only without --validation: use one of these options");
    }
    const Preset<EncoderConfig> preset = chosen_preset(span_answerer_presets(), args);
    SquadParts parts = read_parts(args.options, preset.training);
    const SpanReading spans = SpanReading::fields().with({}, args.options.fields(kGroup));
    const auto [config, tokenizer, notes] = encoder_for(args, preset.model, parts.train);
    auto model = std::make_unique<SpanAnswerer>(
        build_span_answerer(config, tokenizer, spans, preset.training));
    auto loaded = start_weights(*model, args);
    return new_run<SpanAnsweringRun>(preset.name, std::move(loaded), notes, std::move(model),
                                     std::move(parts));
  }

  std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                const OptionValues& options) const override {
    auto known = model_as<SpanAnswerer>(std::move(model));
    SquadParts parts = read_parts(options, known->settings);
    return std::make_unique<SpanAnsweringRun>(std::move(known), std::move(parts));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return span_answerer_of(folder, text);
  }

  std::vector<std::vector<Answer>> answer(Session& session, const TrainedModel& model,
                                          const std::vector<Question>& questions,
                                          const AnswerOptions& options) const override {
    return weft::answer(session, dynamic_cast<const SpanAnswerer&>(model), questions, options);
  }

  FolderModel to_folder(const TrainedModel& model) const override {
    return folder_model_of(dynamic_cast<const SpanAnswerer&>(model));
  }

  std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model) const override {
    return text_encoder_in(dynamic_cast<const SpanAnswerer&>(model));
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
