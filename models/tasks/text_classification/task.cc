#include "weft/models/tasks/text_classification/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/plots/svg_heat_map.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/text_classification/presets.h"
#include "weft/models/tasks/text_classification/text_classifier.h"

namespace weft {
namespace {

constexpr const char *kConfusion = ".confusion.svg", *kAttention = ".attention.svg";

class TextClassificationRun final : public TaskRun {
 public:
  TextClassificationRun(std::unique_ptr<TextClassifier> model, LabelledParts parts,
                        std::string held_out)
      : model_(std::move(model)), parts_(std::move(parts)), held_out_(std::move(held_out)) {}

  TrainedModel& model() override { return *model_; }

  std::string describe() override {
    return describe_encoder(model_->config, *model_->graph) +
           fmt::format("data      {} texts to train on, {} held out ({} part); classes {}\n",
                       grouped(parts_.train.size()), grouped(parts_.held_out.size()), held_out_,
                       fmt::join(model_->classes, ", "));
  }
  std::string batch_unit() const override { return "texts"; }
  std::int64_t row_size() const override { return model_->config.longest_row(); }

  TrainTask task(Session& session) override {
    return text_classifier_task(session, *model_, parts_.train, &parts_.held_out);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    const ConfusionMatrix matrix = confusion(session, *model_, parts_.held_out);
    return {fmt::format("held out  accuracy {:.2f}% of {} texts\n{}", 100 * matrix.accuracy(),
                        matrix.total(), matrix.table()),
            {{kConfusion, svg_heat_maps({matrix.heat_map("held-out texts")})},
             {kAttention, attention_svg(*model_, parts_.held_out.texts.front())}}};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return evaluate(session, as_classifier(model), parts_.held_out);
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const ConfusionMatrix matrix = confusion(session, as_classifier(model), parts_.held_out);
    return fmt::format("{}{:9} accuracy {:.4f} of {} texts\n", matrix.table(), held_out_,
                       matrix.accuracy(), matrix.total());
  }

 private:
  static const TextClassifier& as_classifier(const TrainedModel& model) {
    return dynamic_cast<const TextClassifier&>(model);
  }

  std::unique_ptr<TextClassifier> model_;
  LabelledParts parts_;
  std::string held_out_;
};

class TextClassificationTask final : public Task {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{.id = "text-classification",
                               .family = "encoder",
                               .name = "classify",
                               .about = "classes of texts",
                               .help = {{"batch", "texts per step"}},
                               .plots = {kConfusion, kAttention}};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_labelled_data(options, "files of lines 'label <tab> text' or 'text <tab> label'");
    add_vocab(options);
    return options;
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetAbout> presets() const override { return abouts(text_classifier_presets()); }
  std::unique_ptr<TrainedModel> empty_model() const override {
    return std::make_unique<TextClassifier>();
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    if (args.training.contains("validation_fraction")) {
      throw ArgumentError(
          "--validation-fraction is for pre-training: --test-fraction and --held-out say what a "
          "classifier is measured on");
    }
    LabelledParts parts = labelled_parts(args.options);
    const Preset<EncoderConfig> preset = chosen_preset(text_classifier_presets(), args);
    const EncoderConfig base = args.from ? args.from->config_of<EncoderConfig>() : preset.model;
    chosen_config(base, args);  // before the tokenizer is made, which takes its time
    const auto [tokenizer, notes] = encoder_tokenizer(args, [&] { return parts.train.texts; });
    auto model = std::make_unique<TextClassifier>(build_text_classifier(
        encoder_config_for(base, tokenizer, args), tokenizer, parts.train.names, preset.training));
    std::optional<LoadReport> loaded;
    if (args.from) {
      // A head for other classes says nothing of these.
      const bool other = args.from->classes != parts.train.names;
      loaded = start_weights(
          *model, args, args.from->weights,
          other ? std::vector<std::string>{"classifier.*"} : std::vector<std::string>{});
    }
    auto run = std::make_unique<TextClassificationRun>(std::move(model), std::move(parts),
                                                       held_out_part(args.options));
    run->notes = notes;
    run->preset = preset.name;
    run->loaded = std::move(loaded);
    return run;
  }

  std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                const OptionValues& options) const override {
    auto known = model_as<TextClassifier>(std::move(model));
    LabelledParts parts = labelled_parts(options);
    if (known->classes != parts.train.names) {
      throw DataError(fmt::format("the model knows the classes {}, the data have {}",
                                  fmt::join(known->classes, ", "),
                                  fmt::join(parts.train.names, ", ")));
    }
    return std::make_unique<TextClassificationRun>(std::move(known), std::move(parts),
                                                   held_out_part(options));
  }

  std::vector<std::vector<ClassScore>> classify(Session& session, const TrainedModel& model,
                                                const std::vector<std::string>& inputs,
                                                std::int64_t most) const override {
    const auto& classifier = dynamic_cast<const TextClassifier&>(model);
    std::vector<std::vector<ClassScore>> result;
    for (const Classified& found : weft::classify(session, classifier, inputs)) {
      std::vector<ClassScore>& scores = result.emplace_back();
      for (std::size_t c = 0; c < classifier.classes.size(); ++c)
        scores.push_back({classifier.classes[c], found.probabilities[c]});
      std::stable_sort(scores.begin(), scores.end(), [](const ClassScore& a, const ClassScore& b) {
        return a.probability > b.probability;
      });
      scores.resize(std::min(scores.size(), static_cast<std::size_t>(most)));
    }
    return result;
  }
};

}  // namespace

const Task& text_classification_task() {
  static const TextClassificationTask task;
  return task;
}

}  // namespace weft
