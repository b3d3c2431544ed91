// Plots the attention in a vision transformer.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/attention_maps.h"
#include "weft/models/plots/image_panel.h"
#include "weft/models/tasks/image_classification/image_classifier.h"

namespace weft {

std::string attention_svg(const ImageClassifier& model, const Tensor& image,
                          const std::string& title) {
  const VitConfig& c = model.config;
  const auto [channels, height, width] = model.image_size();
  if (image.sizes() != Sizes{channels, height, width}) {
    throw ShapeError(fmt::format(
        "the model requires an image f32[{}, {}, {}], not {}: convert it with preprocess_image()",
        channels, height, width, image.type_str()));
  }
  Program program("attention");
  const std::vector<AttentionMap> maps =
      attention_maps(model.program("classify").outputs().front().second);
  for (std::size_t i = 0; i < maps.size(); ++i)
    program.output(std::to_string(i), mean(maps[i].probabilities, 1));
  Session session(*model.graph, model.store);
  const Results found =
      session.run(program, {{"images", image.reshape({1, channels, height, width})}});

  // All panels have the height of the image.
  std::vector<HeatMap> panels = {image_panel(image, "image")};
  const std::int64_t tokens = c.tokens(), extra = c.extra_tokens();
  const std::int64_t queries = c.has_class_token() ? 1 : tokens;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Tensor p = found[std::to_string(i)];  // [1, tokens, tokens]
    HeatMap map;
    map.rows = c.rows();
    map.columns = c.columns();
    map.title = fmt::format("layer {}", i + 1);
    map.show_values = map.show_scale = false;
    map.cell = std::max<int>(1, panels[0].cell * static_cast<int>(c.patch_height));
    for (std::int64_t patch = extra; patch < tokens; ++patch) {
      double sum = 0;
      for (std::int64_t query = 0; query < queries; ++query) sum += p.at(query * tokens + patch);
      map.values.push_back(sum / static_cast<double>(queries));
    }
    panels.push_back(std::move(map));
  }
  return svg_heat_maps(panels, {.title = title, .panels_per_row = 5});
}

}  // namespace weft
