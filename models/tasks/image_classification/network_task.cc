// weft train network: fine-tuning of image networks from ONNX files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/core/error.h"
#include "weft/models/tasks/image_classification/image_run.h"
#include "weft/models/tasks/image_classification/network_classifier.h"
#include "weft/models/tasks/image_classification/presets.h"
#include "weft/models/tasks/image_classification/task.h"
#include "weft/models/training/weights.h"

namespace weft {
namespace {

constexpr const char *kFeaturesOption = "--features", *kPixelsOption = "--pixels";

/// Returns the normalisation of `--pixels`. ImageNet's mean and deviation are those of the weights
/// that torchvision and timm publish.
ImageNormalisation chosen_normalisation(const TaskArguments& args, const ImageSet& train) {
  const std::string choice = args.options.choice(kPixelsOption, "data");
  if (choice == "data") return normalisation_of(train);
  const std::int64_t channels = train.size().channels;
  if (choice == "none") {
    const auto count = static_cast<std::size_t>(channels);
    return {std::vector<double>(count, 0), std::vector<double>(count, 1)};
  }
  if (channels != 3) {
    throw ArgumentError(
        fmt::format("--pixels imagenet is for images with 3 channels, not {}", channels));
  }
  return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
}

class NetworkClassificationTask final : public TaskOf<NetworkClassifier> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "network-classification",
        .family = "network",
        .name = "classify",
        .about = "fine-tune the network of an ONNX file to classify images",
        .help = {{"batch", "images per step"},
                 {"validation_fraction",
                  "fraction of the training images held out for validation"}},
        .plots = {kConfusionPlot}};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    add_image_data(options)
        .text(kFeaturesOption,
              "name of the value of the ONNX file that a new head reads, with one row per image "
              "(default: the operand of the last matrix product)")
        .choice(kPixelsOption, {"data", "imagenet", "none"},
                "normalisation of the images: by the mean and deviation of the training images, or "
                "of ImageNet, or none (default: data)")
        .field_group(kAugmentationGroup, ImageAugmentation::fields());
    return options;
  }
  TaskFields config_fields() const override {
    return {
        "Model", &NetworkConfig::fields(), {"channels", "image_height", "image_width", "features"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(network_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const std::string& path = image_path(args.options);
    if (!args.from || !args.from->is_network) {
      throw ArgumentError(
          "a network is fine-tuned from an ONNX file, or from a .weft file of this task: give "
          "--from MODEL.onnx");
    }
    const Preset<ImageAugmentation> preset = chosen_preset(network_presets(), args);
    const ImageNetwork network =
        read_image_network(args.from->source, args.options.text(kFeaturesOption));
    const auto augmentation =
        ImageAugmentation::fields().with(preset.model, args.options.fields(kAugmentationGroup));
    const ImageSize size{network.config.channels, network.config.image_height,
                         network.config.image_width};
    ImageParts parts = load_image_parts(path, size, default_geometry(size), preset.training);
    const ImageNormalisation pixels = chosen_normalisation(args, parts.train);
    auto model = std::make_unique<NetworkClassifier>(build_network_classifier(
        network, parts.train.classes, pixels, augmentation, preset.training));
    auto loaded = start_weights(*model, args, network.file.tensors(), {});
    std::string line =
        fmt::format("pixels    normalised by mean ({:.3f}) and standard deviation ({:.3f})\n",
                    fmt::join(pixels.mean, ", "), fmt::join(pixels.deviation, ", "));
    return new_run<ImageClassificationRun<NetworkClassifier>>(preset.name, std::move(loaded), "",
                                                              std::move(model), std::move(parts),
                                                              path, std::move(line));
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<NetworkClassifier> model,
                                      const OptionValues& options) const override {
    return open_classifier(std::move(model), options);
  }
};

}  // namespace

const Task& network_classification_task() {
  static const NetworkClassificationTask task;
  return task;
}

}  // namespace weft
