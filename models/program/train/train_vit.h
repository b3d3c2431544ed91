// weft train vit: what its two tasks, classifiers and pre-training, share.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/image_folder.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/program/train/train_command.h"

namespace weft::program {

struct VitArguments : TrainArguments, StartArguments {
  std::string task, data;
  FieldValues augmentation = FieldValues::object();
  FieldValues masking = FieldValues::object();
};

/// The data with a part of the training images put aside to validate on.
struct ImageParts {
  ImageData data;
  ImageSet train, validation;
};
ImageParts load_parts(const VitArguments& args, const ImageSize& size,
                      const TrainSettings& settings);

/// Pixels of an image, of all channels.
std::int64_t image_values(const VitConfig& config);

/// The line "model".
void print_vit(const VitConfig& config, const Graph& graph);
/// The line "split".
void print_split(const ImageParts& parts, const TrainSettings& settings);
/// How the command goes on after a stop.
std::string command_line(const VitArguments& args);

int train_image_classifier(const VitArguments& args);
int train_masked_images(const VitArguments& args);

}  // namespace weft::program
