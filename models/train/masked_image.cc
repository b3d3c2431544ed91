#include "weft/models/train/masked_image.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/vit.h"
#include "weft/models/train/image_file.h"
#include "weft/models/train/training_step.h"

namespace weft {
namespace {

constexpr const char* kMasking = "train.masking";

MaskedImagePrograms build(Graph& graph, const VitConfig& config,
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
  const auto predicted = [&](bool training) {
    const Value h = vit(target, mask, training, loc).last_hidden_state;
    return head(slice(h, 1, {.begin = Dim(config.extra_tokens())}), config.rows(),
                config.columns());
  };

  MaskedImagePrograms programs;
  add_training_step(programs.train, masked_pixel_loss(config, target, predicted(true), mask, loc),
                    settings, loc);
  const Value found = predicted(false), pixels = denormalised(found, normalisation);
  programs.evaluate.precision(settings.precision)
      .output("loss", masked_pixel_loss(config, target, found, mask, loc), loc);
  const Value hidden = masked_pixels(config, mask, DType::boolean);
  programs.reconstruct.precision(settings.precision)
      .output("reconstruction", where(hidden, pixels, images), loc)
      .output("pixels", pixels, loc);
  return programs;
}

}  // namespace

MaskedImageModel make_masked_image_model(const VitConfig& config,
                                         const ImageNormalisation& normalisation,
                                         const ImageAugmentation& augmentation,
                                         const PatchMasking& masking, const TrainSettings& settings,
                                         SourceLocation loc) {
  settings.check();
  config.check();
  augmentation.check();
  normalisation.check(config.channels);
  hidden_patches(masking, config.rows(), config.columns());
  if (config.patch_height != config.patch_width) {
    throw ArgumentError(
        fmt::format("masked-image modelling needs square patches, not patch_height {} and "
                    "patch_width {}",
                    config.patch_height, config.patch_width));
  }
  auto graph = std::make_shared<Graph>();
  MaskedImagePrograms programs = build(*graph, config, normalisation, settings, loc);
  return {std::move(graph),
          std::move(programs),
          std::make_shared<VariableStore>(),
          config,
          normalisation,
          augmentation,
          masking,
          settings,
          {}};
}

void save_masked_image_model(const std::string& path, const MaskedImageModel& model) {
  std::vector<Program> programs = {model.programs.evaluate, model.programs.reconstruct};
  if (model.can_train()) programs.insert(programs.begin(), model.programs.train);
  std::vector<Attachment> attachments = image_attachments(
      {model.config, {}, model.normalisation, model.augmentation, model.settings, model.history});
  attachments.push_back({kMasking, "weft.train.masking", model.masking.to_json()});
  save_checkpoint(path, *model.store, programs, {.attachments = std::move(attachments)});
}

MaskedImageModel load_masked_image_model(const std::string& path) {
  const ModelFile file(path, kVitConfigType, "masked-image model");
  MaskedImagePrograms programs{file.program_if_there("train"), file.program("evaluate"),
                               file.program("reconstruct")};
  ImageFile parts = read_image_file(file);
  return {file.checkpoint().shared_graph(),
          std::move(programs),
          file.checkpoint().store(),
          parts.config,
          std::move(parts.normalisation),
          parts.augmentation,
          PatchMasking::from_json(file.attachment(kMasking)),
          parts.settings,
          std::move(parts.history)};
}

}  // namespace weft
