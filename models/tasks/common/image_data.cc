#include "weft/models/tasks/common/image_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
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
ImageSize image_size(const SwinConfig& config) {
  return {config.channels, config.image_height, config.image_width};
}

TensorMap image_weights(const Pretrained& base, const VitConfig& config) {
  TensorMap weights = base.weights;
  const auto& from = base.config_of<VitConfig>();
  const PatchGrid before{from.rows(), from.columns()}, now{config.rows(), config.columns()};
  if (before == now) return weights;
  for (auto& [name, tensor] : weights) {
    if (name == "positions") {
      tensor = interpolate_positions(tensor, from, config);
    } else if (name == "decoder.positions") {
      tensor =
          resize_position_table(tensor, from.position_extra(), before, now, GridFilter::bicubic);
    } else if (name.ends_with("relative_bias")) {
      tensor = resize_relative_bias(tensor, before, now);
    }
  }
  return weights;
}

TensorMap image_weights(const Pretrained& base, const SwinConfig& config) {
  TensorMap weights = base.weights;
  const auto& from = base.config_of<SwinConfig>();
  const auto resize = [](Tensor& table, PatchGrid before, PatchGrid now) {
    if (before != now) table = resize_position_table(table, 0, before, now, GridFilter::bicubic);
  };
  const std::int64_t before = 2 * from.window - 1, now = 2 * config.window - 1;
  for (auto& [name, tensor] : weights) {
    if (name == "positions") {
      resize(tensor, {from.rows(), from.columns()}, {config.rows(), config.columns()});
    } else if (name.ends_with("relative_bias") && before != now) {
      const std::int64_t heads = tensor.size(1);
      tensor = tensor.reshape({1, before * before, heads});
      resize(tensor, {before, before}, {now, now});
      tensor = tensor.reshape({now * now, heads});
    }
  }
  return weights;
}

void put_fixed_positions(TrainedModel& model, const VitConfig& config) {
  TensorMap tables;
  for (const Variable& variable : model.graph->variables()) {
    const std::string& name = variable.name();
    if (variable.info().kind != VariableKind::parameter || variable.info().trainable ||
        (name != "positions" && name != "decoder.positions"))
      continue;
    tables[name] = sine_cosine_table(config.position_extra(), {config.rows(), config.columns()},
                                     variable.shape()[2].constant());
  }
  if (!tables.empty()) load_weights(*model.store, *model.graph, tables, "the position tables");
}

void refuse_decoder_fields(const FieldTexts& given) {
  for (const auto& [name, text] : given) {
    if (!name.starts_with("decoder_") && name != "normalise_pixel_loss") continue;
    std::string option = name;
    std::replace(option.begin(), option.end(), '_', '-');
    throw ArgumentError(fmt::format(
        "--{} has no effect without --task masked-image --objective mae: leave it out", option));
  }
}

std::string describe_images_model(const VitConfig& c, const Graph& graph) {
  return fmt::format(
      "model     ViT: {} layers, {} heads, width {}, {} patches of {} x {}: {} parameters\n",
      c.layers, c.heads, c.width, c.rows() * c.columns(), c.patch_height, c.patch_width,
      grouped(hf::count_parameters(graph)));
}

std::string describe_images_model(const SwinConfig& c, const Graph& graph) {
  return fmt::format(
      "model     Swin: stages of {} blocks, {} heads, width {}, {} patches of {} x {} in windows "
      "of {} x {}: {} parameters\n",
      fmt::join(c.depths, ", "), fmt::join(c.heads, ", "), c.width, c.rows() * c.columns(),
      c.patch_height, c.patch_width, c.window, c.window, grouped(hf::count_parameters(graph)));
}

std::string describe_split(const ImageParts& parts, const TrainSettings& settings) {
  return fmt::format(
      "split     {} training images, {} of them held out for validation (seed {}); {} test images "
      "({})\n",
      grouped(parts.data.train.count()), grouped(parts.validation.count()), settings.seed,
      grouped(parts.data.test.count()), parts.data.about);
}

}  // namespace weft
