#include "weft/models/tasks/text_similarity/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/baseline_line.h"
#include "weft/models/tasks/common/data_parts.h"
#include "weft/models/tasks/common/encoder_presets.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/text_similarity/presets.h"
#include "weft/models/tasks/text_similarity/similarity_task.h"

namespace weft {
namespace {

constexpr const char* kSimilarityFilesRequired =
    "--data is required: files to train on, with lines 'score <tab> text <tab> text'";
constexpr const char* kSimilarityGroup = "Similarity";

using SimilarityParts = DataParts<ScoredPairs>;

/// Throws DataError if `part` contains single texts but pairs are expected, or vice versa.
void check_form(const ScoredPairs& part, bool pairs, const char* what) {
  if (part.size() > 0 && part.pairs != pairs) {
    throw DataError(fmt::format("{} has lines with {}, but expected lines with {}", what,
                                part.pairs ? "two texts" : "one text",
                                pairs ? "two texts" : "one text"));
  }
}

/// Reads the data. Without --validation, a fraction of --data is held out for validation.
SimilarityParts read_similarity_parts(const OptionValues& options, const TrainSettings& settings) {
  return read_data_parts(options, kDataOption, kSimilarityFilesRequired, settings,
                         read_scored_pairs,
                         [](const ScoredPairs& all, double fraction, std::uint64_t seed) {
                           return hold_out(all, fraction, seed);
                         });
}

void check_forms(const SimilarityParts& parts, bool pairs) {
  check_form(parts.train, pairs, kDataOption);
  check_form(parts.validation, pairs, kValidationOption);
  check_form(parts.test, pairs, kTestOption);
}

/// Returns the head options of the initial weights, or of the preset if there are none.
SimilarityHead default_head(const SimilarityPreset& preset, const TaskArguments& args,
                            const ScoredPairs& train) {
  SimilarityHead head = preset.head;
  if (args.from && args.from->similarity)
    head = PartValue<SimilarityHead>::read(*args.from->similarity);
  else if (args.from)
    head.pooler = args.from->pooler;
  // The cosine comparison requires two texts.
  if (!train.pairs) head.comparison = Comparison::joint;
  return head;
}

/// Returns `base_head` with the given options, and with `pairs` and the score range set from the
/// training lines. Throws DataError if all scores are equal.
SimilarityHead head_for(const SimilarityHead& base_head, const TaskArguments& args,
                        const ScoredPairs& train) {
  const std::vector<double> scores = train.scores();
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  if (!(static_cast<float>(*low) < static_cast<float>(*high))) {
    throw DataError(
        fmt::format("all {} training lines have the score {}: training requires different scores",
                    train.size(), *low));
  }
  SimilarityHead head = base_head;
  head.pairs = train.pairs;
  head = SimilarityHead::fields().with(std::move(head), args.options.fields(kSimilarityGroup));
  head.low = *low;
  head.high = *high;
  return head;
}

/// Formats metrics: "pearson 0.5000, spearman 0.4000".
std::string metrics_text(const std::vector<Metric>& metrics) {
  std::vector<std::string> texts;
  for (const Metric& metric : metrics)
    texts.push_back(fmt::format("{} {:.4f}", metric.name, metric.value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

class SimilarityRun final : public RunOf<SimilarityModel> {
 public:
  SimilarityRun(std::unique_ptr<SimilarityModel> model, SimilarityParts parts)
      : RunOf(std::move(model)), parts_(std::move(parts)) {}

  std::string describe() override {
    const SimilarityHead& head = model_->head;
    return describe_encoder(model_->config, *model_->graph) +
           fmt::format(
               "data      {} {} for training, {} for validation, {} for testing; scores from {:g} "
               "to {:g}\n",
               grouped(parts_.train.size()), batch_unit(), grouped(parts_.validation.size()),
               grouped(parts_.test.size()), head.low, head.high) +
           fmt::format("head      comparison {}, pooling {}\n", choice_name(head.comparison),
                       choice_name(head.pooling));
  }
  std::string batch_unit() const override { return model_->head.pairs ? "pairs" : "texts"; }
  std::int64_t row_size() const override { return model_->config.max_tokens(); }

  TrainTask task(Session& session) override {
    if (parts_.train.size() == 0) throw ArgumentError(kSimilarityFilesRequired);
    const bool begins = model_->history.train.empty();
    if (begins && !untrained_ && parts_.has_held_out())
      untrained_ = evaluate(session, *model_, held_out()).metrics;
    return similarity_task(session, *model_, parts_.train,
                           parts_.validation.size() > 0 ? &parts_.validation : nullptr);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    if (!parts_.has_held_out()) return {};
    std::string text = measure_report(session, *model_);
    const auto add = [&](const std::vector<Metric>& metrics, const char* what) {
      if (metrics.empty()) return;  // all scores are equal
      text += baseline_line(fmt::format("{} on {} {}", metrics_text(metrics),
                                        grouped(held_out().size()), batch_unit()),
                            what);
    };
    if (untrained_) add(*untrained_, "the model before training");
    if (model_->head.pairs) {
      add(correlations(tfidf_cosines(parts_.train, held_out()), held_out().scores()),
          "cosine of TF-IDF vectors");
    }
    return {text};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return evaluate(session, model_as<SimilarityModel>(model), held_out());
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const Evaluation found = measure(session, model);
    return fmt::format("{:9} loss {:.5f}{}{} on {} {}\n", parts_.has_test() ? "test" : "validation",
                       require_finite(found.loss, "the loss"), found.metrics.empty() ? "" : ", ",
                       metrics_text(found.metrics), grouped(held_out().size()), batch_unit());
  }

 private:
  const ScoredPairs& held_out() const { return parts_.held_out("line"); }

  SimilarityParts parts_;
  std::optional<std::vector<Metric>> untrained_;  // not set for resumed runs
};

class TextSimilarityTask final : public TaskOf<SimilarityModel> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "text-similarity",
        .family = "encoder",
        .name = "similarity",
        .about = "predict scores for text pairs or single texts",
        .help =
            {{"batch", "text pairs (or single texts) per step"},
             {"validation_fraction",
              "fraction of the --data lines held out for validation if there is no --validation"}},
        .folders = "encoders ...ForSequenceClassification for regression",
        .loss_unit = "squared error of scores scaled to [0, 1]"};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_data_parts(
        options,
        "files to train on, with lines 'score <tab> text <tab> text' or 'score <tab> text'");
    add_tokenizer(options, "bpe", true);
    return options.field_group(kSimilarityGroup, SimilarityHead::fields(),
                               {"pairs", "low", "high", "pooler"});
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(text_similarity_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    check_data_parts(args, kDataOption, kSimilarityFilesRequired);
    SimilarityPreset preset = find_preset(
        text_similarity_presets(),
        args.preset.empty() ? default_encoder_preset(args.from.has_value()) : args.preset);
    preset.training = chosen_settings(preset.training, args.training);
    // The fraction is stored in the model file, so that later evaluations hold out the same --data
    // lines. With --validation, no --data lines are held out.
    if (args.options.has(kValidationOption)) preset.training.validation_fraction = 0;
    SimilarityParts parts = read_similarity_parts(args.options, preset.training);
    const SimilarityHead head =
        head_for(default_head(preset, args, parts.train), args, parts.train);
    check_forms(parts, head.pairs);
    EncoderConfig base = base_config(preset.model, args);
    // Pairs in one row need token types, but the presets are for single texts and have none.
    // Encoders that were trained without token types keep their config.
    if (head.pairs && head.comparison == Comparison::joint && !args.from)
      base.token_types = std::max<std::int64_t>(base.token_types, 2);
    const auto [config, tokenizer, notes] =
        new_encoder(base, args, [&] { return parts.train.texts(); });
    auto model = std::make_unique<SimilarityModel>(
        build_similarity_model(config, tokenizer, head, preset.training));
    auto loaded = start_weights(*model, args);
    return new_run<SimilarityRun>(preset.name, std::move(loaded), notes, std::move(model),
                                  std::move(parts));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return similarity_model_of(folder, text);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<SimilarityModel> model,
                                      const OptionValues& options) const override {
    SimilarityParts parts = read_similarity_parts(options, model->settings);
    check_forms(parts, model->head.pairs);
    return std::make_unique<SimilarityRun>(std::move(model), std::move(parts));
  }
};

}  // namespace

const Task& text_similarity_task() {
  static const TextSimilarityTask task;
  return task;
}

}  // namespace weft
