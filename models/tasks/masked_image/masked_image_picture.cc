// Plots reconstructions by a masked-image model.
#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/models/plots/image_panel.h"
#include "weft/models/tasks/masked_image/masked_image.h"

namespace weft {

std::string reconstruction_svg(Session& session, const MaskedImageModel& model,
                               const Tensor& images, const Tensor& mask, const std::string& title) {
  const VitConfig& c = model.config;
  const auto [channels, height, width] = model.image_size();
  const std::int64_t count = images.rank() == 0 ? 0 : images.size(0);
  const std::int64_t patches = c.rows() * c.columns();
  if (images.sizes() != Sizes{count, channels, height, width} ||
      mask.sizes() != Sizes{count, patches}) {
    throw ShapeError(fmt::format(
        "the model requires images f32[count, {}, {}, {}] and masks i32[count, {}], not "
        "{} and {}",
        channels, height, width, patches, images.type_str(), mask.type_str()));
  }
  const Tensor made = session.run(model.program("reconstruct"),
                                  {{"images", images}, {"mask", mask}})["reconstruction"];
  std::vector<HeatMap> panels;
  const Sizes size = {channels, height, width};
  const std::int64_t pixels = channels * height * width;
  for (std::int64_t i = 0; i < count; ++i) {
    Tensor image = Tensor::empty(DType::f32, size), filled = Tensor::empty(DType::f32, size);
    std::copy_n(images.data<float>() + i * pixels, pixels, image.mutable_data<float>());
    std::copy_n(made.data<float>() + i * pixels, pixels, filled.mutable_data<float>());
    Tensor seen = image.clone();
    for (std::int64_t p = 0; p < pixels; ++p) {
      const std::int64_t y = p / width % height, x = p % width;
      const std::int64_t patch = y / c.patch_height * c.columns() + x / c.patch_width;
      if (mask.data<std::int32_t>()[i * patches + patch] != 0)
        seen.mutable_data<float>()[p] = std::numeric_limits<float>::quiet_NaN();
    }
    panels.push_back(image_panel(image, fmt::format("image {}", i + 1)));
    panels.push_back(image_panel(seen, "visible patches"));
    panels.push_back(image_panel(filled, "filled in"));
  }
  return svg_heat_maps(panels, {.title = title, .panels_per_row = 6});
}

}  // namespace weft
