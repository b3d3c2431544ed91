#include "weft/models/tasks/common/vit_presets.h"

#include <fmt/format.h>

namespace weft {
namespace {

/// Returns a ViT config for square images with `channels` channels and square patches. Pooling is
/// the mean over the patches.
VitConfig small_vit(std::int64_t channels, std::int64_t image, std::int64_t patch,
                    std::int64_t layers, std::int64_t heads, std::int64_t width, double dropout) {
  VitConfig config;
  config.channels = channels;
  config.image_height = config.image_width = image;
  config.patch_height = config.patch_width = patch;
  config.layers = layers;
  config.heads = heads;
  config.width = width;
  config.inner = 4 * width;
  config.pooling = VitPooling::mean;
  config.layer_norm_eps = 1e-6;
  config.dropout = dropout;
  config.initializer_range = 0.08;
  return config;
}

/// Returns `settings` with the values that are common to all presets.
TrainSettings training(TrainSettings settings) {
  settings.batch = 64;
  settings.min_lr = 1e-5;
  settings.beta2 = 0.99;
  settings.weight_decay = 0.05;
  return settings;
}

/// Returns a Swin config for the images of `vit`, with the same norms, initial weights and dropout.
SwinConfig small_swin(const VitConfig& vit, std::int64_t patch, std::int64_t window,
                      std::int64_t width, std::vector<double> depths, std::vector<double> heads) {
  SwinConfig config;
  config.channels = vit.channels;
  config.image_height = vit.image_height;
  config.image_width = vit.image_width;
  config.patch_height = config.patch_width = patch;
  config.window = window;
  config.width = width;
  config.depths = std::move(depths);
  config.heads = std::move(heads);
  config.dropout = vit.dropout;
  config.drop_path = 0;
  config.initializer_range = vit.initializer_range;
  return config;
}

std::vector<Preset<SwinRecipe>> make_swin_presets() {
  std::vector<Preset<SwinRecipe>> presets;
  for (const Preset<VitRecipe>& vit : vit_presets()) {
    const std::int64_t image = vit.model.model.image_height;
    const SwinConfig config = image == 8 ? small_swin(vit.model.model, 1, 4, 32, {2, 2}, {2, 4})
                              : image == 28
                                  ? small_swin(vit.model.model, 2, 7, 48, {2, 2}, {3, 6})
                                  : small_swin(vit.model.model, 4, 4, 64, {2, 2, 4}, {2, 4, 8});
    presets.push_back({vit.name,
                       fmt::format("{}: {} x {} patches in windows of {} x {}",
                                   vit.about.substr(0, vit.about.rfind(',')), config.patch_height,
                                   config.patch_width, config.window, config.window),
                       {config, vit.model.augmentation},
                       vit.training});
  }
  return presets;
}

}  // namespace

const std::vector<Preset<SwinRecipe>>& swin_presets() {
  static const std::vector<Preset<SwinRecipe>> presets = make_swin_presets();
  return presets;
}

const std::vector<Preset<VitRecipe>>& vit_presets() {
  static const std::vector<Preset<VitRecipe>> presets = {
      {"digits",
       "8 x 8 digits (optdigits), 2 x 2 patches",
       {small_vit(1, 8, 2, 4, 4, 64, 0), {.shift = 0.5, .rotation = 8, .zoom = 0.08}},
       training({.steps = 1500,
                 .lr = 2e-3,
                 .warmup = 100,
                 .eval_every = 300,
                 .eval_batches = 0,
                 .save_every = 600})},
      {"mnist",
       "28 x 28 digits (MNIST), 7 x 7 patches",
       {small_vit(1, 28, 7, 4, 4, 96, 0), {.shift = 1.5, .rotation = 10, .zoom = 0.1}},
       training({.steps = 2000, .lr = 2e-3, .warmup = 140, .eval_every = 250, .eval_batches = 0})},
      {"images",
       "64 x 64 colour images (one folder per class), 8 x 8 patches",
       {small_vit(3, 64, 8, 6, 4, 192, 0.1), {.min_area = 0.4, .flip = true}},
       training({.steps = 5000, .lr = 1e-3, .warmup = 250, .eval_every = 250, .eval_batches = 10})},
  };
  return presets;
}

}  // namespace weft
