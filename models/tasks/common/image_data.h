// Images for tasks: read, split, described.
#pragma once

#include <string>

#include "weft/models/data/image_folder.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Images with a part of the training ones put aside to validate on.
struct ImageParts {
  ImageData data;
  ImageSet train, validation;
};
/// Throws as load_image_data.
ImageParts load_image_parts(const std::string& path, const ImageSize& size,
                            const TrainSettings& settings);

/// --data, which images are read from.
inline constexpr const char* kImageData = "--data";
TaskOptions& add_image_data(TaskOptions& options);
/// Throws ArgumentError where it was not given.
const std::string& image_path(const OptionValues& values);

ImageSize image_size(const VitConfig& config);
/// The weights of a trained vision transformer for a model of `config`: learned positions are
/// interpolated where the images are of another size (ShapeError where tokens in front of the
/// patches or widths differ).
TensorMap vit_weights(const Pretrained& base, const VitConfig& config);
/// start_weights with vit_weights.
std::optional<LoadReport> start_vit_weights(TrainedModel& model, const VitConfig& config,
                                            const TaskArguments& args,
                                            const std::vector<std::string>& also_new = {});
/// The line "model".
std::string describe_vit(const VitConfig& config, const Graph& graph);
/// The line "split".
std::string describe_split(const ImageParts& parts, const TrainSettings& settings);

}  // namespace weft
