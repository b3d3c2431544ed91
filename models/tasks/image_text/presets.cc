#include "weft/models/tasks/image_text/presets.h"

#include <cmath>

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// Returns two small towers for 32 x 32 images and short captions.
ImageTextConfig clip_mini() {
  ImageTextConfig config;
  EncoderConfig& text = config.text;
  text.context = 32;
  text.layers = 3;
  text.heads = 4;
  text.width = 128;
  text.inner = 512;
  VitConfig& image = config.image;
  image.image_height = image.image_width = 32;
  image.patch_height = image.patch_width = 4;
  image.layers = 4;
  image.heads = 4;
  image.width = 128;
  image.inner = 512;
  text.initializer_range = image.initializer_range = 0.05;
  config.projection = 128;
  return config;
}

/// Returns clip_mini() with SigLIP's loss, its initial temperature and bias (Zhai et al. 2023,
/// section 3.3), bidirectional attention in the text tower, and attention pooling of the patches.
ImageTextConfig siglip_mini() {
  ImageTextConfig config = clip_mini();
  config.text.causal = false;
  config.image.pooling = VitPooling::attention;
  config.image.embedding_norm = false;
  config.image.patch_bias = config.image.final_norm = true;
  config.text.activation = config.image.activation = Activation::gelu_tanh;
  config.text.layer_norm_eps = config.image.layer_norm_eps = 1e-6;
  config.text_pooling = TextTowerPooling::last;
  config.text_projection_bias = true;
  config.image_projection = false;
  config.loss = ImageTextLoss::sigmoid;
  config.logit_scale = std::log(10.0);
  config.logit_bias = -10;
  return config;
}

TrainSettings contrastive_training(std::int64_t steps, double lr) {
  TrainSettings settings{.steps = steps,
                         .batch = 64,
                         .lr = lr,
                         .min_lr = 1e-6,
                         .warmup = steps / 10,
                         .eval_every = 250,
                         .eval_batches = 0};
  settings.beta2 = 0.98;
  settings.weight_decay = 0.1;
  return settings;
}

}  // namespace

const std::vector<Preset<ImageTextRecipe>>& image_text_presets() {
  static const std::vector<Preset<ImageTextRecipe>> presets = {
      {"clip-mini",
       "CLIP with 32 x 32 images: 4 layers for images, 3 for captions, width 128",
       {clip_mini(), {.min_area = 0.6}},
       contrastive_training(2000, 1e-3)},
      {"siglip-mini",
       "the same towers with SigLIP's loss, pooling and bidirectional captions",
       {siglip_mini(), {.min_area = 0.6}},
       contrastive_training(2000, 1e-3)},
      {"fine-tune",
       "settings for a published model",
       {ImageTextConfig(), {.min_area = 0.8}},
       contrastive_training(1000, 1e-5)},
  };
  return presets;
}

}  // namespace weft
