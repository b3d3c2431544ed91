#include "weft/models/tasks/masked_image/masked_image.h"

#include <fmt/format.h>

#include <functional>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/masked_autoencoder.h"
#include "weft/models/tasks/common/image_data.h"

namespace weft {
namespace {

/// The loss and the predicted images of a model in one mode.
struct Reconstruction {
  Value loss, pixels;
};

/// Returns a function that reconstructs the normalised images `target` in a mode.
std::function<Reconstruction(Mode, Reduction)> reconstruction(Graph& graph, const VitConfig& config,
                                                              const PatchMasking& masking,
                                                              Value target, Value mask,
                                                              SourceLocation loc) {
  if (masking.objective == MaskedImageObjective::mae) {
    const MaskedAutoencoder autoencoder(Scope(graph), config, loc);
    const Value masked = cast(mask, DType::f32);
    const std::int64_t visible =
        config.rows() * config.columns() - hidden_patches(masking, config.rows(), config.columns());
    return [=](Mode mode, Reduction reduction) {
      const Value pixels = autoencoder.in(mode)(target, masked, visible, loc).pixels;
      return Reconstruction{
          masked_patch_loss(config, target, pixels, masked, reduction, loc),
          images_of(config, config.normalise_pixel_loss
                                ? denormalised_patches(pixels, patches_of(config, target))
                                : pixels)};
    };
  }
  const Vit vit(Scope(graph), config, true, loc);
  const PixelHead head = make_pixel_head(Scope(graph, "pixels"), config, config.patch_height);
  return [=](Mode mode, Reduction reduction) {
    const Value h = vit.in(mode)(target, mask, loc).last_hidden_state;
    const Value pixels =
        head(slice(h, 1, {.begin = Dim(config.extra_tokens())}), config.rows(), config.columns());
    return Reconstruction{masked_pixel_loss(config, target, pixels, mask, reduction, loc), pixels};
  };
}

Programs build_programs(Graph& graph, const VitConfig& config, const PatchMasking& masking,
                        const ImageNormalisation& normalisation, const TrainSettings& settings,
                        SourceLocation loc) {
  const Value images =
      graph.input("images", DType::f32,
                  {"batch", config.channels, config.image_height, config.image_width}, loc);
  const std::int64_t patches = config.rows() * config.columns();
  const Value mask = graph.input("mask", DType::i32, {"batch", patches}, loc);
  const Value target = normalised(images, normalisation);
  const auto reconstruct_in = reconstruction(graph, config, masking, target, mask, loc);

  Program train("train"), evaluate("evaluate"), reconstruct("reconstruct");
  train.output("loss", reconstruct_in(Mode::training, settings.loss_reduction()).loss, loc);
  const auto [loss, found] = reconstruct_in(Mode::evaluation, Reduction::mean);
  const Value pixels = denormalised(found, normalisation);
  evaluate.precision(settings.precision).output("loss", loss, loc);
  const Value hidden = masked_pixels(config, mask, DType::boolean);
  reconstruct.precision(settings.precision)
      .output("reconstruction", where(hidden, pixels, images), loc)
      .output("pixels", pixels, loc);
  return {{"train", train}, {"evaluate", evaluate}, {"reconstruct", reconstruct}};
}

}  // namespace

const ModelLayout& MaskedImageModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "masked-image model",
                  .uses = {Use::embed},
                  .programs = {"evaluate", "reconstruct"}}
          .config(&MaskedImageModel::config)
          .part("model.images", "weft.images", &MaskedImageModel::images)
          .part("train.augmentation", "weft.train.augmentation", &MaskedImageModel::augmentation)
          .part("train.masking", "weft.train.masking", &MaskedImageModel::masking);
  return layout;
}

std::unique_ptr<ImageEncoder> MaskedImageModel::image_encoder() const {
  return image_encoder_of(*this, config, images, image_size(), [&](const Value& pixels) {
    const Vit vit(Scope(pixels.graph()).evaluation(), config);
    return vit.pool(vit(pixels).last_hidden_state);
  });
}

void MaskedImageModel::check() const {
  config.check();
  augmentation.check();
  images.normalisation.check(config.channels);
  hidden_patches(masking, config.rows(), config.columns());
  if (masking.objective == MaskedImageObjective::simmim &&
      config.patch_height != config.patch_width) {
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
  if (masking.objective == MaskedImageObjective::mae) model.config.mask_ratio = masking.mask_ratio;
  model.check();
  model.programs =
      build_programs(*model.graph, model.config, masking, normalisation, settings, loc);
  put_fixed_positions(model, config);
  return model;
}

FolderModel MaskedImageModel::to_folder() const {
  FolderModel folder;
  folder.library.family = config;
  folder.library.endings = {
      masking.objective == MaskedImageObjective::mae ? "ForPreTraining" : "ForMaskedImageModeling"};
  folder.images = images;
  return folder;
}

}  // namespace weft
