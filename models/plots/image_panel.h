// Images as panels of a picture.
#pragma once

#include <string>

#include "weft/models/plots/svg_heat_map.h"

namespace WEFT_API weft {

/// The side of a panel in pixels.
inline constexpr int kPanelPixels = 140;

/// An image [channels, height, width] in greys, about kPanelPixels high; pixels that are not finite
/// stay empty. ShapeError for a tensor that is no image of 1 or 3 channels.
HeatMap image_panel(const Tensor& image, const std::string& title);

}  // namespace weft
