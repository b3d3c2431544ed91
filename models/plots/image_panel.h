// Heat maps that show images as panels of a plot.
#pragma once

#include <string>

#include "weft/models/plots/svg_heat_map.h"

namespace WEFT_API weft {

/// The side length of a panel in pixels.
inline constexpr int kPanelPixels = 140;

/// Returns an image [channels, height, width] in shades of grey, about kPanelPixels high. Pixels
/// that are not finite are left empty. Throws ShapeError if the tensor is not an image with 1 or 3
/// channels.
HeatMap image_panel(const Tensor& image, const std::string& title);

}  // namespace weft
