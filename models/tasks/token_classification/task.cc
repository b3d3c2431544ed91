#include "weft/models/tasks/token_classification/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/data/formats/tagged_text.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/baseline_line.h"
#include "weft/models/tasks/common/data_parts.h"
#include "weft/models/tasks/common/encoder_presets.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/token_classification/memorised_words.h"
#include "weft/models/tasks/token_classification/presets.h"
#include "weft/models/tasks/token_classification/token_classifier.h"

namespace weft {
namespace {

constexpr const char* kTrain = "--train";
constexpr const char* kTaggingFilesRequired = "--train is required: files of words and tags";

using TaggedParts = DataParts<std::vector<TaggedSentence>>;

/// Reads the data. Without --validation, a fraction of the --train sentences is held out for
/// validation.
TaggedParts read_tagging_parts(const OptionValues& values, const TrainSettings& settings) {
  return read_data_parts(values, kTrain, kTaggingFilesRequired, settings, read_tagged_text,
                         split_sentences);
}

/// Returns one text per sentence, for training a tokenizer.
std::vector<std::string> texts_of(const std::vector<TaggedSentence>& sentences) {
  std::vector<std::string> texts;
  for (const TaggedSentence& sentence : sentences)
    texts.push_back(fmt::format("{}", fmt::join(sentence.words, " ")));
  return texts;
}

class TokenClassificationRun final : public RunOf<TokenClassifier> {
 public:
  TokenClassificationRun(std::unique_ptr<TokenClassifier> model, TaggedParts parts)
      : RunOf(std::move(model)),
        parts_{tagged_rows(*model_, std::move(parts.train)),
               tagged_rows(*model_, std::move(parts.validation)),
               tagged_rows(*model_, std::move(parts.test))} {}

  std::string describe() override {
    std::string text = describe_encoder(model_->config, *model_->graph);
    text += fmt::format(
        "data      {} sentences of {} words for training, {} for validation, {} for testing; "
        "tags {}\n",
        grouped(parts_.train.size()), grouped(parts_.train.words),
        grouped(parts_.validation.size()), grouped(parts_.test.size()),
        fmt::join(model_->tags, ", "));
    std::int64_t sentences = 0, words = 0;
    for (const TaggedRows* part : {&parts_.train, &parts_.validation, &parts_.test}) {
      sentences += part->cut_sentences;
      words += part->cut_words;
    }
    if (sentences > 0) {
      text += fmt::format("truncated to {} tokens: {} sentences, {} words dropped in total\n",
                          model_->config.max_tokens(), grouped(sentences), grouped(words));
    }
    return text;
  }
  std::string batch_unit() const override { return "sentences"; }
  std::int64_t row_size() const override { return model_->config.max_tokens(); }

  TrainTask task(Session& session) override {
    if (parts_.train.size() == 0) throw ArgumentError(kTaggingFilesRequired);
    return token_classifier_task(session, *model_, parts_.train, parts_.validation);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    if (!parts_.has_held_out()) return {};
    return {report_of(session, *model_) + baseline()};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return evaluation_of(scores(session, model));
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    return report_of(session, model);
  }

 private:
  const TaggedRows& held_out() const { return parts_.held_out("sentence"); }
  TaggingScores scores(Session& session, const TrainedModel& model) const {
    return score_tags(session, model_as<TokenClassifier>(model), held_out());
  }
  std::string report_of(Session& session, const TrainedModel& model) const {
    const TaggingScores found = scores(session, model);
    const SpanCounts all = found.spans.all();
    return fmt::format(
        "{}{:9} loss {:.4f}, span F1 {:.4f}, precision {:.4f}, recall {:.4f} on {} spans in {} "
        "sentences\n",
        found.spans.table(), parts_.has_test() ? "test" : "held out",
        require_finite(found.loss, "the loss"), all.f1(), all.precision(), all.recall(),
        grouped(all.truth), grouped(held_out().size()));
  }

  /// Returns the report line for the baseline, a tagger that memorises word tags, evaluated on the
  /// same sentences.
  std::string baseline() const {
    const TaggingBaseline found = memorised_words_baseline(
        parts_.train.sentences, parts_.validation.sentences, held_out().sentences);
    const SpanCounts all = found.test.all();
    return baseline_line(
        fmt::format("span F1 {:.4f}, precision {:.4f}, recall {:.4f} on {} spans", all.f1(),
                    all.precision(), all.recall(), grouped(all.truth)),
        fmt::format("every word gets its most frequent tag in the training set, {} case (chosen on "
                    "the validation set)",
                    found.fold_case ? "without" : "with"));
  }

  DataParts<TaggedRows> parts_;
};

class TokenClassificationTask final : public TaskOf<TokenClassifier> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{.id = "token-classification",
                               .family = "encoder",
                               .name = "tag",
                               .about = "tag every word, for example with named entities",
                               .help = {{"batch", "sentences per step"},
                                        {"validation_fraction",
                                         "fraction of the training sentences held out for "
                                         "validation if there is no --validation"}},
                               .folders = "encoders ...ForTokenClassification"};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options
        .files(kTrain,
               "files with lines 'word <tab> tag' and a blank line after every sentence; tags are "
               "O, B-TYPE and I-TYPE")
        .files(kValidationOption,
               "files for validation, in the same format (default: a fraction of the training "
               "sentences)")
        .files(kTestOption, "files for a single evaluation at the end, in the same format")
        .data();
    return add_tokenizer(options, "bpe", true);
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(token_classifier_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    check_data_parts(args, kTrain, kTaggingFilesRequired);
    TaskArguments chosen = args;
    if (chosen.preset.empty()) chosen.preset = default_encoder_preset(args.from.has_value());
    const Preset<EncoderConfig> preset = chosen_preset(token_classifier_presets(), chosen);
    TaggedParts parts = read_tagging_parts(args.options, preset.training);
    const std::vector<std::string> tags = known_tags(parts, args.options);
    const auto [config, tokenizer, notes] =
        new_encoder(base_config(preset.model, args), args, [&] { return texts_of(parts.train); });
    auto model = std::make_unique<TokenClassifier>(
        build_token_classifier(config, tokenizer, tags, preset.training));
    auto loaded = start_weights(*model, args, mismatched_head_parameters(args, tags));
    return new_run<TokenClassificationRun>(preset.name, std::move(loaded), notes, std::move(model),
                                           std::move(parts));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return token_classifier_of(folder, text);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<TokenClassifier> model,
                                      const OptionValues& options) const override {
    TaggedParts parts = read_tagging_parts(options, model->settings);
    return std::make_unique<TokenClassificationRun>(std::move(model), std::move(parts));
  }

 private:
  /// Returns the tags in the training set, including sentences that are held out for validation.
  /// Throws DataError if O is the only tag.
  static std::vector<std::string> known_tags(const TaggedParts& parts, const OptionValues& values) {
    std::vector<TaggedSentence> all = parts.train;
    if (!values.has(kValidationOption))
      all.insert(all.end(), parts.validation.begin(), parts.validation.end());
    std::vector<std::string> tags = tags_of(all);
    if (tags.size() > 1) return tags;
    throw DataError(fmt::format("{}: every word has the tag O, so there is nothing to learn",
                                fmt::join(values.texts(kTrain), ", ")));
  }
};

}  // namespace

const Task& token_classification_task() {
  static const TokenClassificationTask task;
  return task;
}

}  // namespace weft
