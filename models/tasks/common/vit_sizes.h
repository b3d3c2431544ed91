// Sizes that presets of several tasks share.
#pragma once

#include "weft/models/families/vit_config.h"

namespace weft {

/// A square image of `channels` in square patches; the mean of the patches stands for it.
VitConfig small_vit(std::int64_t channels, std::int64_t image, std::int64_t patch,
                    std::int64_t layers, std::int64_t heads, std::int64_t width, double dropout);

}  // namespace weft
