#include "weft/models/tasks/text_classification/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/plots/svg_heat_map.h"
#include "weft/models/tasks/common/baseline_line.h"
#include "weft/models/tasks/common/encoder_presets.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/text_classification/presets.h"
#include "weft/models/tasks/text_classification/text_baseline.h"
#include "weft/models/tasks/text_classification/text_classifier.h"

namespace weft {
namespace {

constexpr const char* kClassificationGroup = "Classifier";
constexpr const char* kNothingHeldOut =
    "no class has two texts that can be divided; --test names files with further texts";
/// With more training texts than this, tuning the baseline can take longer than training the model.
constexpr std::int64_t kMaxBaselineTexts = 20'000;
constexpr IntegerRange<std::int64_t> kBatchRange{1, std::int64_t{1} << 24};

/// Reads and splits the data. With --test, the training set is all of --data (empty if --data is
/// not given), and the held-out set is read from the --test files.
LabelledParts parts_of(const OptionValues& values) {
  if (!values.has(kTestOption)) return labelled_parts(values);
  for (const char* option : {"--held-out", "--test-fraction", "--split-seed"}) {
    if (values.has(option)) {
      throw ArgumentError(fmt::format(
          "{} selects the held-out part of --data: do not combine it with --test", option));
    }
  }
  const std::vector<std::string>& test = values.texts(kTestOption);
  if (!values.has(kDataOption)) {  // evaluation of a trained model
    const LabelledText all = labelled_data(values, test);
    return {all.subset({}), all};
  }
  const LabelledText train = labelled_data(values);
  std::vector<std::string> paths = values.texts(kDataOption);
  paths.insert(paths.end(), test.begin(), test.end());
  // Read all files together, so that the position and the numbering of labels are the same in all
  // files.
  const LabelledText all = labelled_data(values, paths);
  if (all.names != train.names) {
    throw DataError(
        fmt::format("the --test files have the classes {}, but the --data files have {}",
                    fmt::join(all.names, ", "), fmt::join(train.names, ", ")));
  }
  if (all.size() == train.size())
    throw DataError(
        fmt::format("{}: there are no texts in the --test files", fmt::join(test, ", ")));
  std::vector<std::int64_t> first(static_cast<std::size_t>(train.size()));
  std::vector<std::int64_t> last(static_cast<std::size_t>(all.size() - train.size()));
  std::iota(first.begin(), first.end(), 0);
  std::iota(last.begin(), last.end(), train.size());
  return {all.subset(first), all.subset(last)};
}

/// Returns the report line for the baseline, a bag-of-words classifier trained on the same texts.
std::string text_baseline_line(const LabelledParts& parts) {
  constexpr const char* kWhat = "logistic regression on TF-IDF features of words and word pairs";
  if (parts.train.size() > kMaxBaselineTexts) {
    return no_baseline_line(
        kWhat, fmt::format("skipped for more than {} training texts", grouped(kMaxBaselineTexts)));
  }
  try {
    const TextBaseline found = tfidf_baseline(parts.train, parts.held_out);
    return baseline_line(fmt::format("accuracy {:.2f}% on {} texts", 100 * found.test.accuracy(),
                                     found.test.total()),
                         fmt::format("{}, tuned on the training texts", kWhat));
  } catch (const ArgumentError& e) {  // too few texts, or texts without words
    return no_baseline_line(kWhat, fmt::format("none, {}", e.what()));
  }
}

class TextClassificationRun final : public RunOf<TextClassifier> {
 public:
  TextClassificationRun(std::unique_ptr<TextClassifier> model, LabelledParts parts,
                        std::string held_out)
      : RunOf(std::move(model)), parts_(std::move(parts)), held_out_(std::move(held_out)) {}

  std::string describe() override {
    const std::string held_out =
        evaluates()
            ? fmt::format("{} held out ({} set)", grouped(parts_.held_out.size()), held_out_)
            : fmt::format("none held out ({})", kNothingHeldOut);
    return describe_encoder(model_->config, *model_->graph) +
           fmt::format("data      {} texts for training, {}; classes {}\n",
                       grouped(parts_.train.size()), held_out, fmt::join(model_->classes, ", "));
  }
  std::string batch_unit() const override { return "texts"; }
  std::int64_t row_size() const override { return model_->config.max_tokens(); }

  TrainTask task(Session& session) override {
    if (parts_.train.size() == 0) throw ArgumentError(kDataRequired);
    return text_classifier_task(session, *model_, parts_.train,
                                evaluates() ? &parts_.held_out : nullptr);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    if (!evaluates())
      return {fmt::format("held out  the accuracy is unknown: {}\n", kNothingHeldOut)};
    const ConfusionMatrix matrix = confusion(session, *model_, parts_.held_out);
    TaskReport result{
        fmt::format("held out  accuracy {:.2f}% on {} texts\n{}{}", 100 * matrix.accuracy(),
                    matrix.total(), text_baseline_line(parts_), matrix.table()),
        {{kConfusionPlot, svg_heat_maps({matrix.heat_map("held-out texts")})}}};
    if (model_->config.layers > 0)  // without layers, there is no attention
      result.plots.push_back(
          {kAttentionPlot, attention_svg(*model_, parts_.held_out.texts.front())});
    return result;
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    require_held_out();
    return evaluate(session, model_as<TextClassifier>(model), parts_.held_out);
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    require_held_out();
    const ConfusionMatrix matrix =
        confusion(session, model_as<TextClassifier>(model), parts_.held_out);
    return fmt::format("{}{:9} accuracy {:.4f} on {} texts\n", matrix.table(), held_out_,
                       matrix.accuracy(), matrix.total());
  }

 private:
  bool evaluates() const { return parts_.held_out.size() > 0; }
  void require_held_out() const {
    if (!evaluates())
      throw DataError(fmt::format("there is nothing to evaluate on: {}", kNothingHeldOut));
  }

  LabelledParts parts_;
  std::string held_out_;
};

/// Returns the preset's settings for `texts` training texts, overridden by the settings in `given`.
TrainSettings settings_for(const TextClassifierPreset& preset, const FieldTexts& given,
                           std::int64_t texts) {
  const auto batch = given.find("batch");
  return chosen_settings(
      preset.training_for(texts, batch == given.end()
                                     ? preset.training.batch
                                     : parse_integer("--batch", batch->second, kBatchRange)),
      given);
}

/// Returns the head options for the initial weights. Only classifier files contain head options.
/// For other files, the result is the default options with the pooler activation of the weights.
ClassifierHead head_of(const Pretrained& base) {
  ClassifierHead head;
  head.pooler = base.pooler;
  return base.head ? PartValue<ClassifierHead>::read(*base.head) : head;
}

/// Returns the preprocessed training texts, which are passed to the tokenizer.
std::vector<std::string> read(const LabelledText& train, const ClassifierHead& head) {
  std::vector<std::string> texts;
  for (const std::string& text : train.texts) texts.push_back(head.read(text));
  return texts;
}

class TextClassificationTask final : public TaskOf<TextClassifier> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{.id = "text-classification",
                               .family = "encoder",
                               .name = "classify",
                               .about = "classify texts",
                               .help = {{"batch", "texts per step"}},
                               .plots = {kConfusionPlot, kAttentionPlot},
                               .folders = "encoders ...ForSequenceClassification"};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_labelled_data(options, "files with lines 'label <tab> text' or 'text <tab> label'");
    options
        .files(kTestOption,
               "test files in the same format; all of --data is then used for training (default: a "
               "part of --data)")
        .data();
    add_tokenizer(options, "bpe", true);
    return options.field_group(kClassificationGroup, ClassifierHead::fields(), {"pooler"});
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(text_classifier_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    if (args.training.contains("validation_fraction")) {
      throw ArgumentError(
          "--validation-fraction is for pre-training: use --test-fraction and --held-out to select "
          "the held-out texts for a classifier");
    }
    if (!args.options.has(kDataOption)) throw ArgumentError(kDataRequired);
    LabelledParts parts = parts_of(args.options);
    const std::string name =
        args.preset.empty() ? default_encoder_preset(args.from.has_value()) : args.preset;
    const auto& preset = find_preset(text_classifier_presets(), name);
    const TrainSettings settings = settings_for(preset, args.training, parts.train.size());
    const ClassifierHead head = ClassifierHead::fields().with(
        args.from ? head_of(*args.from) : preset.head, args.options.fields(kClassificationGroup));
    const auto [config, tokenizer, notes] =
        new_encoder(base_config(preset.model, args), args, [&] { return read(parts.train, head); });
    auto model = std::make_unique<TextClassifier>(
        build_text_classifier(config, tokenizer, parts.train.names, settings, head));
    auto loaded = start_weights(*model, args, mismatched_head_parameters(args, parts.train.names));
    return new_run<TextClassificationRun>(preset.name, std::move(loaded), notes, std::move(model),
                                          std::move(parts), held_out_part(args.options));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return text_classifier_of(folder, text);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<TextClassifier> model,
                                      const OptionValues& options) const override {
    LabelledParts parts = parts_of(options);
    if (model->classes != parts.train.names) {
      throw DataError(fmt::format("the model has the classes {}, but the data have {}",
                                  fmt::join(model->classes, ", "),
                                  fmt::join(parts.train.names, ", ")));
    }
    return std::make_unique<TextClassificationRun>(std::move(model), std::move(parts),
                                                   held_out_part(options));
  }
};

}  // namespace

const Task& text_classification_task() {
  static const TextClassificationTask task;
  return task;
}

}  // namespace weft
