#include "weft/models/plots/image_panel.h"

#include <algorithm>

#include "weft/models/data/images/image_transform.h"

namespace weft {

HeatMap image_panel(const Tensor& image, const std::string& title) {
  HeatMap map = heat_map(to_channels(image, 1).reshape({image.size(1), image.size(2)}));
  map.title = title;
  map.colours = HeatColours::greys;
  map.low = 0;
  map.high = 1;
  map.show_values = map.show_scale = false;
  map.cell = std::max<int>(1, kPanelPixels / static_cast<int>(image.size(1)));
  return map;
}

}  // namespace weft
