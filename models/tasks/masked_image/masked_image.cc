#include "weft/models/tasks/masked_image/masked_image.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/vit.h"

namespace weft {
namespace {

Programs build_programs(Graph& graph, const VitConfig& config,
                        const ImageNormalisation& normalisation, const TrainSettings& settings,
                        SourceLocation loc) {
  const Value images =
      graph.input("images", DType::f32,
                  {"batch", config.channels, config.image_height, config.image_width}, loc);
  const std::int64_t patches = config.rows() * config.columns();
  const Value mask = graph.input("mask", DType::i32, {"batch", patches}, loc);
  const Value target = normalised(images, normalisation);
  const Vit vit(Scope(graph), config, true, loc);
  const PixelHead head = make_pixel_head(Scope(graph, "pixels"), config, config.patch_height);
  const auto predicted = [&](const Vit& net) {
    const Value h = net(target, mask, loc).last_hidden_state;
    return head(slice(h, 1, {.begin = Dim(config.extra_tokens())}), config.rows(),
                config.columns());
  };

  Program train("train"), evaluate("evaluate"), reconstruct("reconstruct");
  train.output("loss",
               masked_pixel_loss(config, target, predicted(vit.training()), mask,
                                 settings.loss_reduction(), loc),
               loc);
  const Value found = predicted(vit.evaluation()), pixels = denormalised(found, normalisation);
  evaluate.precision(settings.precision)
      .output("loss", masked_pixel_loss(config, target, found, mask, Reduction::mean, loc), loc);
  const Value hidden = masked_pixels(config, mask, DType::boolean);
  reconstruct.precision(settings.precision)
      .output("reconstruction", where(hidden, pixels, images), loc)
      .output("pixels", pixels, loc);
  return {{"train", train}, {"evaluate", evaluate}, {"reconstruct", reconstruct}};
}

}  // namespace

const ModelLayout& MaskedImageModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "masked-image model", .programs = {"evaluate", "reconstruct"}}
          .config(&MaskedImageModel::config)
          .part("model.images", "weft.images", &MaskedImageModel::images)
          .part("train.augmentation", "weft.train.augmentation", &MaskedImageModel::augmentation)
          .part("train.masking", "weft.train.masking", &MaskedImageModel::masking);
  return layout;
}

void MaskedImageModel::check() const {
  config.check();
  augmentation.check();
  images.normalisation.check(config.channels);
  hidden_patches(masking, config.rows(), config.columns());
  if (config.patch_height != config.patch_width) {
    throw ArgumentError(
        fmt::format("masked-image modelling requires square patches, not patch_height {} and "
                    "patch_width {}",
                    config.patch_height, config.patch_width));
  }
}

MaskedImageModel build_masked_image_model(const VitConfig& config,
                                          const ImageNormalisation& normalisation,
                                          const ImageAugmentation& augmentation,
                                          const PatchMasking& masking,
                                          const TrainSettings& settings, SourceLocation loc) {
  settings.check();
  MaskedImageModel model;
  model.task = "masked-image";
  model.settings = settings;
  model.config = config;
  model.images = {{}, normalisation, default_geometry(model.image_size())};
  model.augmentation = augmentation;
  model.masking = masking;
  model.check();
  model.programs = build_programs(*model.graph, config, normalisation, settings, loc);
  return model;
}

FolderModel MaskedImageModel::to_folder() const {
  FolderModel folder;
  folder.library.family = config;
  folder.library.endings = {"ForMaskedImageModeling"};
  folder.images = images;
  return folder;
}

}  // namespace weft
