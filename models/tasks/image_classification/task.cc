#include "weft/models/tasks/image_classification/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/plots/svg_heat_map.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/tasks/image_classification/presets.h"

namespace weft {
namespace {

/// Returns the attention plot of a model, if its attention can be shown.
std::vector<TaskPlot> attention_plots(const ImageClassifier& model, const Tensor& image,
                                      const std::string& title) {
  return {{kAttentionPlot, attention_svg(model, image, title)}};
}
/// Attention within shifted windows has no map of the whole image.
std::vector<TaskPlot> attention_plots(const SwinClassifier&, const Tensor&, const std::string&) {
  return {};
}

template <class Model>
class ImageClassificationRun final : public RunOf<Model> {
 public:
  /// `pixels` is the description line on pixel normalisation; empty for models that were opened
  /// from a file.
  ImageClassificationRun(std::unique_ptr<Model> model, ImageParts parts, std::string path,
                         std::string pixels = {})
      : RunOf<Model>(std::move(model)),
        parts_(std::move(parts)),
        path_(std::move(path)),
        pixels_(std::move(pixels)) {}

  std::string describe() override {
    return describe_images_model(model_->config, *model_->graph) +
           fmt::format("data      {}: {} classes, images {}\n", path_, parts_.train.classes.size(),
                       parts_.train.size().str()) +
           pixels_ + describe_split(parts_, model_->settings);
  }
  std::string batch_unit() const override { return "images"; }
  std::int64_t row_size() const override {
    const auto [channels, height, width] = model_->image_size();
    return channels * height * width;
  }

  TrainTask task(Session& session) override {
    return image_task(session, *model_, parts_.train, parts_.validation);
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    const ImageSet& test = parts_.data.test;
    if (test.count() == 0) return {};
    const ImageEvaluation found = evaluate_images(session, *model_, test);
    const std::string& truth = model_->classes()[static_cast<std::size_t>(test.labels.front())];
    TaskReport report{
        found.matrix.table() + fmt::format("test      loss {:.4f}, accuracy {:.4f} ({} of {})\n",
                                           found.loss, found.matrix.accuracy(),
                                           found.matrix.correct(), found.matrix.total()),
        attention_plots(*model_, test.image(0),
                        fmt::format("attention of the layers: test image 0, class {}", truth))};
    report.plots.insert(
        report.plots.begin(),
        {kConfusionPlot,
         svg_heat_maps({found.matrix.heat_map()},
                       {.title = fmt::format("test set: {} of {} right", found.matrix.correct(),
                                             found.matrix.total())})});
    return report;
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    const ImageEvaluation found = evaluate(session, model);
    return {found.loss, {{"accuracy", found.matrix.accuracy()}}};
  }
  std::string measure_report(Session& session, const TrainedModel& model) override {
    const ImageEvaluation found = evaluate(session, model);
    return found.matrix.table() +
           fmt::format("test      loss {:.4f}, accuracy {:.4f} ({} of {}: {})\n",
                       require_finite(found.loss, "the loss"), found.matrix.accuracy(),
                       found.matrix.correct(), found.matrix.total(), parts_.data.about);
  }

 private:
  ImageEvaluation evaluate(Session& session, const TrainedModel& model) const {
    return evaluate_images(session, model_as<Model>(model), parts_.data.test);
  }

  using RunOf<Model>::model_;
  ImageParts parts_;
  std::string path_, pixels_;
};

/// The properties of the task for one model family.
template <class Model>
struct Kind;
template <>
struct Kind<ImageClassifier> {
  using Config = VitConfig;
  static constexpr const char *kId = "image-classification", *kFamily = "vit";
  static constexpr const char* kFolders = "vision transformers ...ForImageClassification";
  static std::vector<std::string> plots() { return {kConfusionPlot, kAttentionPlot}; }
  static TaskFields fields() {
    return {"Model", &VitConfig::fields(), {"distillation", "mask_token", "mask_ratio"}};
  }
  static const auto& presets() { return vit_presets(); }
  static const auto& fine_tuning_presets() { return vit_fine_tuning_presets(); }
  static auto from_folder(const hf::Folder& folder) { return image_classifier_of(folder); }
  /// Returns the config for fine-tuning. Masked autoencoders become plain ViTs with trained
  /// positions.
  static VitConfig fine_tuned(VitConfig config) {
    if (config.positions == VitPositions::fixed) config.positions = VitPositions::learned;
    return config;
  }
};
template <>
struct Kind<SwinClassifier> {
  using Config = SwinConfig;
  static constexpr const char *kId = "swin-classification", *kFamily = "swin";
  static constexpr const char* kFolders = "SwinForImageClassification";
  static std::vector<std::string> plots() { return {kConfusionPlot}; }
  static TaskFields fields() { return {"Model", &SwinConfig::fields(), {}}; }
  static const auto& presets() { return swin_presets(); }
  static const auto& fine_tuning_presets() { return swin_fine_tuning_presets(); }
  static auto from_folder(const hf::Folder& folder) { return swin_classifier_of(folder); }
  static SwinConfig fine_tuned(const SwinConfig& config) { return config; }
};

template <class Model>
class ImageClassificationTask final : public TaskOf<Model> {
  using Of = Kind<Model>;
  using Config = typename Of::Config;

 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = Of::kId,
        .family = Of::kFamily,
        .name = "classify",
        .about = "classify images",
        .help = {{"batch", "images per step"},
                 {"validation_fraction",
                  "fraction of the training images held out for validation"}},
        .plots = Of::plots(),
        .folders = Of::kFolders};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_image_data(options).field_group(kAugmentationGroup, ImageAugmentation::fields());
    return options;
  }
  TaskFields config_fields() const override { return Of::fields(); }
  std::vector<PresetDescription> presets() const override {
    std::vector<PresetDescription> all = preset_descriptions(Of::presets());
    for (const PresetDescription& preset : preset_descriptions(Of::fine_tuning_presets()))
      all.push_back(preset);
    return all;
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const std::string& path = image_path(args.options);
    // With --from, both the fine-tuning presets and the presets for new models are available.
    std::vector<Preset<ImageRecipe<Config>>> presets = Of::presets();
    if (args.from) {
      presets.insert(presets.begin(), Of::fine_tuning_presets().begin(),
                     Of::fine_tuning_presets().end());
    }
    const Preset<ImageRecipe<Config>> preset = chosen_preset(presets, args);
    refuse_decoder_fields(args.model);
    const Config base = base_config(preset.model.model, args);
    const Config config = chosen_config(Of::fine_tuned(base), args);
    const auto augmentation = ImageAugmentation::fields().with(
        preset.model.augmentation, args.options.fields(kAugmentationGroup));
    const ImageGeometry geometry = chosen_geometry(args, config);
    ImageParts parts = load_image_parts(path, image_size(config), geometry, preset.training);
    const bool as_before = args.from && args.from->normalisation;
    auto model = std::make_unique<Model>(build_image_classifier(
        config, parts.train.classes,
        as_before ? *args.from->normalisation : normalisation_of(parts.train), augmentation,
        preset.training));
    model->images.geometry = geometry;
    auto loaded = start_image_weights(*model, config, args,
                                      mismatched_head_parameters(args, parts.train.classes));
    // The model types of masked autoencoders have no classifier.
    if (!(Of::fine_tuned(base) == base)) model->origin.reset();
    const ImageNormalisation& pixels = model->images.normalisation;
    std::string line =
        fmt::format("pixels    normalised by mean ({:.3f}) and standard deviation ({:.3f}) of {}\n",
                    fmt::join(pixels.mean, ", "), fmt::join(pixels.deviation, ", "),
                    as_before ? "the trained model" : "the training images");
    return new_run<ImageClassificationRun<Model>>(preset.name, std::move(loaded), "",
                                                  std::move(model), std::move(parts), path,
                                                  std::move(line));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer&) const override {
    return Of::from_folder(folder);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<Model> model,
                                      const OptionValues& options) const override {
    const std::string& path = image_path(options);
    ImageParts parts =
        load_image_parts(path, model->image_size(), model->images.geometry, model->settings);
    if (parts.train.classes != model->classes()) {
      throw DataError(fmt::format("the model has the classes ({}), but {} has the classes ({})",
                                  fmt::join(model->classes(), ", "), path,
                                  fmt::join(parts.train.classes, ", ")));
    }
    return std::make_unique<ImageClassificationRun<Model>>(std::move(model), std::move(parts),
                                                           path);
  }
};

}  // namespace

const Task& image_classification_task() {
  static const ImageClassificationTask<ImageClassifier> task;
  return task;
}

const Task& swin_classification_task() {
  static const ImageClassificationTask<SwinClassifier> task;
  return task;
}

}  // namespace weft
