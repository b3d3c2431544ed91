#include "weft/models/tasks/common/vit_sizes.h"

namespace weft {

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

}  // namespace weft
