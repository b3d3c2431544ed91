#include "weft/models/train/pretrained_vit.h"

#include <fmt/format.h>

#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/data/text.h"
#include "weft/models/families/vit.h"
#include "weft/models/json_fields.h"
#include "weft/models/train/image_file.h"
#include "weft/models/train/masked_image.h"
#include "weft/models/train/pretrained_folder.h"

namespace weft {
namespace {

using json_fields::json;

/// A number for each channel, or one for all.
std::vector<double> per_channel(const json& object, const char* key, double otherwise,
                                std::int64_t channels, const std::string& path) {
  const auto found = object.find(key);
  const auto count = static_cast<std::size_t>(channels);
  if (found == object.end() || found->is_null()) return std::vector<double>(count, otherwise);
  std::vector<double> values;
  for (const json& value : found->is_array() ? *found : json::array({*found})) {
    if (!value.is_number())
      throw FormatError(fmt::format("{}: '{}' is {}, not numbers", path, key, found->dump()));
    values.push_back(value.get<double>());
  }
  if (values.size() == 1) values.resize(count, values.front());
  if (values.size() != count) {
    throw FormatError(fmt::format("{}: '{}' has {} numbers for images of {} channels", path, key,
                                  values.size(), channels));
  }
  return values;
}

/// The library's images have values in [0, 255], which it multiplies by rescale_factor before it
/// takes the mean away; Weft's have values in [0, 1].
ImageNormalisation read_normalisation(const std::string& path, std::int64_t channels) {
  const json object = json_fields::parse_object(read_text_file(path), path);
  const auto flag = [&](const char* key) {
    const auto found = object.find(key);
    return found == object.end() || !found->is_boolean() || found->get<bool>();
  };
  double factor = 1;
  if (flag("do_rescale")) {
    double rescale = 1.0 / 255;
    if (const auto found = object.find("rescale_factor"); found != object.end())
      json_fields::read(*found, "rescale_factor", rescale);
    factor = rescale * 255;
  } else {
    factor = 255;
  }
  if (!(factor > 0)) throw FormatError(fmt::format("{}: 'rescale_factor' must be positive", path));
  ImageNormalisation result{std::vector<double>(static_cast<std::size_t>(channels), 0),
                            std::vector<double>(static_cast<std::size_t>(channels), 1)};
  if (flag("do_normalize")) {
    result = {per_channel(object, "image_mean", 0.5, channels, path),
              per_channel(object, "image_std", 0.5, channels, path)};
  }
  for (double& mean : result.mean) mean /= factor;
  for (double& deviation : result.deviation) deviation /= factor;
  return result;
}

}  // namespace

PretrainedVit load_pretrained_vit(const std::string& path) {
  if (!std::filesystem::is_directory(path)) {
    if (holds_masked_image_model(load_checkpoint(path))) {
      const MaskedImageModel model = load_masked_image_model(path);
      return {model.config, weights_of(*model.graph, *model.store), {}, model.normalisation};
    }
    const ImageClassifier model = load_image_classifier(path);
    return {model.config, weights_of(*model.graph, *model.store), model.classes,
            model.normalisation};
  }
  PretrainedFolder folder = read_pretrained_folder(path);
  if (!folder.vit_config) {
    throw FormatError(
        fmt::format("{} holds a {} (model_type \"{}\"): images are learned from a ViT or a DeiT",
                    path, folder.architecture, folder.model_type));
  }
  PretrainedVit result{*folder.vit_config, std::move(folder.parameters), {}, {}};
  const std::string about = path + "/preprocessor_config.json";
  if (std::filesystem::exists(about))
    result.normalisation = read_normalisation(about, result.config.channels);
  return result;
}

TensorMap parameters_for(const PretrainedVit& base, const VitConfig& config) {
  TensorMap parameters = base.parameters;
  const auto table = parameters.find("positions");
  if (table != parameters.end() &&
      (config.rows() != base.config.rows() || config.columns() != base.config.columns()))
    table->second = interpolate_positions(table->second, base.config, config);
  return parameters;
}

}  // namespace weft
