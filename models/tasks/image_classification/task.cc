#include "weft/models/tasks/image_classification/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/tasks/image_classification/image_run.h"
#include "weft/models/tasks/image_classification/presets.h"

namespace weft {
namespace {

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
    return open_classifier(std::move(model), options);
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
