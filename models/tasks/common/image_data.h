// Image data for tasks: loading, splitting and descriptions.
#pragma once

#include <optional>
#include <string>

#include "weft/models/data/images/image_folder.h"
#include "weft/models/families/swin_config.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Images, with a part of the training set held out for validation.
struct ImageParts {
  ImageData data;
  ImageSet train, validation;
};
/// Loads the images at `path` and splits off the validation set. Throws the same exceptions as
/// load_image_data.
ImageParts load_image_parts(const std::string& path, const ImageSize& size,
                            const std::optional<ImageGeometry>& geometry,
                            const TrainSettings& settings);
/// Returns the image size of a model config.
ImageSize image_size(const VitConfig& config);
ImageSize image_size(const SwinConfig& config);
/// Returns the geometry for a new model with `config`: that of the trained model with which the
/// training starts (scaled if the image size differs), or otherwise default_geometry().
template <class Config>
ImageGeometry chosen_geometry(const TaskArguments& args, const Config& config) {
  if (!args.from || !args.from->geometry) return default_geometry(image_size(config));
  return args.from->geometry->scaled(image_size(args.from->config_of<Config>()),
                                     image_size(config));
}

/// Key and title of the options for image augmentation.
inline constexpr const char* kAugmentationGroup = "Augmentation";
/// Adds --data, the option for the path of the images.
TaskOptions& add_image_data(TaskOptions& options);
/// Returns the value of --data. Throws ArgumentError if it was not given.
const std::string& image_path(const OptionValues& values);

/// Returns the weights of a trained vision transformer, adapted to a model with `config`. Positions
/// and relative biases are interpolated if the number of patch rows or columns differs (Swin: if
/// the number of patches or the window differs). Throws ShapeError if the width or the number of
/// tokens before the patches differs.
TensorMap image_weights(const Pretrained& base, const VitConfig& config);
TensorMap image_weights(const Pretrained& base, const SwinConfig& config);
/// Same as start_weights(), but adapts the weights with image_weights().
template <class Config>
std::optional<LoadReport> start_image_weights(TrainedModel& model, const Config& config,
                                              const TaskArguments& args,
                                              const std::vector<std::string>& also_new = {}) {
  if (!args.from) return std::nullopt;
  TensorMap weights = image_weights(*args.from, config);
  // Tables that the model has, but the initial weights lack.
  for (const std::string& name : model.store->names())
    weights.emplace(name, model.store->tensor(name));
  model.store = std::make_shared<VariableStore>();
  return start_weights(model, args, weights, also_new);
}
/// Puts the position tables of a new model that are not trained into its store (see
/// VitPositions::fixed). All other variables are initialised as usual.
void put_fixed_positions(TrainedModel& model, const VitConfig& config);
inline void put_fixed_positions(TrainedModel&, const SwinConfig&) {}
/// Throws ArgumentError if one of the given config fields belongs to the decoder of a masked
/// autoencoder.
void refuse_decoder_fields(const FieldTexts& given);
/// Returns the "model" line in the description of a run.
std::string describe_images_model(const VitConfig& config, const Graph& graph);
std::string describe_images_model(const SwinConfig& config, const Graph& graph);
/// Returns the "split" line in the description of a run.
std::string describe_split(const ImageParts& parts, const TrainSettings& settings);

}  // namespace weft
