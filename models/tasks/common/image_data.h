// Image data for tasks: loading, splitting and descriptions.
#pragma once

#include <optional>
#include <string>

#include "weft/models/data/images/image_folder.h"
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
/// Returns the geometry for a new model with `config`: that of the trained model with which the
/// training starts (scaled if the image size differs), or otherwise default_geometry().
ImageGeometry chosen_geometry(const TaskArguments& args, const VitConfig& config);

/// Key and title of the options for image augmentation.
inline constexpr const char* kAugmentationGroup = "Augmentation";
/// Adds --data, the option for the path of the images.
TaskOptions& add_image_data(TaskOptions& options);
/// Returns the value of --data. Throws ArgumentError if it was not given.
const std::string& image_path(const OptionValues& values);

ImageSize image_size(const VitConfig& config);
/// Returns the weights of a trained vision transformer, adapted to a model with `config`. Learned
/// positions are interpolated if the number of patch rows or columns differs. Throws ShapeError if
/// the width or the number of tokens before the patches differs.
TensorMap vit_weights(const Pretrained& base, const VitConfig& config);
/// Same as start_weights(), but adapts the weights with vit_weights().
std::optional<LoadReport> start_vit_weights(TrainedModel& model, const VitConfig& config,
                                            const TaskArguments& args,
                                            const std::vector<std::string>& also_new = {});
/// Returns the "model" line in the description of a run.
std::string describe_vit(const VitConfig& config, const Graph& graph);
/// Returns the "split" line in the description of a run.
std::string describe_split(const ImageParts& parts, const TrainSettings& settings);

}  // namespace weft
