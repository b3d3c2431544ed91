#include "weft/models/tasks/common/image_data.h"

#include <fmt/format.h>

#include <tuple>

#include "weft/core/error.h"
#include "weft/models/families/vit.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"

namespace weft {

ImageParts load_image_parts(const std::string& path, const ImageSize& size,
                            const std::optional<ImageGeometry>& geometry,
                            const TrainSettings& settings) {
  ImageParts parts{load_image_data(path, size, settings.seed, geometry), {}, {}};
  std::tie(parts.train, parts.validation) =
      split(parts.data.train, settings.validation_fraction, settings.seed);
  return parts;
}

ImageGeometry chosen_geometry(const TaskArguments& args, const VitConfig& config) {
  const ImageSize size = image_size(config);
  if (!args.from || !args.from->geometry) return default_geometry(size);
  return args.from->geometry->scaled(image_size(args.from->config_of<VitConfig>()), size);
}

TaskOptions& add_image_data(TaskOptions& options) {
  return options
      .file(kDataOption,
            "images: a folder with MNIST files, optdigits files (.tra, .tes), folders train/ and "
            "test/, or one folder per class; or a .csv file")
      .data();
}

const std::string& image_path(const OptionValues& values) {
  const std::string& path = values.text(kDataOption);
  if (!path.empty()) return path;
  throw ArgumentError(
      "--data is required: a folder with MNIST files, optdigits files or one subfolder per class, "
      "or a .csv file");
}

ImageSize image_size(const VitConfig& config) {
  return {config.channels, config.image_height, config.image_width};
}

TensorMap vit_weights(const Pretrained& base, const VitConfig& config) {
  TensorMap weights = base.weights;
  const auto& from = base.config_of<VitConfig>();
  const auto table = weights.find("positions");
  if (table != weights.end() &&
      (config.rows() != from.rows() || config.columns() != from.columns()))
    table->second = interpolate_positions(table->second, from, config);
  return weights;
}

std::optional<LoadReport> start_vit_weights(TrainedModel& model, const VitConfig& config,
                                            const TaskArguments& args,
                                            const std::vector<std::string>& also_new) {
  if (!args.from) return std::nullopt;
  return start_weights(model, args, vit_weights(*args.from, config), also_new);
}

std::string describe_vit(const VitConfig& c, const Graph& graph) {
  return fmt::format(
      "model     ViT: {} layers, {} heads, width {}, {} patches of {} x {}: {} parameters\n",
      c.layers, c.heads, c.width, c.rows() * c.columns(), c.patch_height, c.patch_width,
      grouped(hf::count_parameters(graph)));
}

std::string describe_split(const ImageParts& parts, const TrainSettings& settings) {
  return fmt::format(
      "split     {} training images, {} of them held out for validation (seed {}); {} test images "
      "({})\n",
      grouped(parts.data.train.count()), grouped(parts.validation.count()), settings.seed,
      grouped(parts.data.test.count()), parts.data.about);
}

}  // namespace weft
