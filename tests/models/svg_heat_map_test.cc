#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "weft/core/error.h"
#include "weft/models/plots/svg_heat_map.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(svg_heat_map)
namespace {

using testing::message_contains;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

BOOST_AUTO_TEST_CASE(confusion_matrices_have_cells_labels_and_a_colour_scale) {
  HeatMap map = heat_map(Tensor::of<std::int32_t>({2, 3}, {0, 5, 10, 3, 2, 1}));
  map.title = "confusion";
  map.row_labels = {"cat & dog", "fox"};
  map.column_labels = {"a", "b", "c"};
  map.row_axis = "true";
  map.column_axis = "predicted";
  const std::string svg = svg_heat_maps({map}, {.title = "held out"});
  BOOST_TEST(svg.starts_with("<svg xmlns="));
  BOOST_TEST(svg.ends_with("</svg>\n"));
  // There are rectangles for the background, the frame, 6 cells and 32 steps of the scale.
  BOOST_TEST(count(svg, "<rect") == 40);
  BOOST_TEST(count(svg, "cat &amp; dog") == 1);
  BOOST_TEST(count(svg, ">predicted</text>") == 1);
  BOOST_TEST(count(svg, "held out") == 1);
  // The lowest value has the lightest colour. The highest value has the darkest colour and white
  // text.
  BOOST_TEST(count(svg, "fill=\"#f8fafc\"") == 1);
  BOOST_TEST(count(svg, "fill=\"#172554\"") == 1);
  BOOST_TEST(count(svg, "fill=\"#ffffff\">10</text>") == 1);
  BOOST_TEST(count(svg, ">10</text>") == 2);  // in the cell and at the end of the scale
}

BOOST_AUTO_TEST_CASE(panels_are_arranged_in_rows_and_nonfinite_cells_are_empty) {
  HeatMap image =
      heat_map(Tensor::of<float>({2, 2}, {0, 1, std::numeric_limits<float>::quiet_NaN(), 0.5F}));
  image.colours = HeatColours::greys;
  image.show_values = image.show_scale = false;
  image.cell = 8;
  const std::string one = svg_heat_maps({image});
  BOOST_TEST(count(one, "<rect") == 2 + 3);
  BOOST_TEST(count(one, "#000000") == 1);
  BOOST_TEST(count(one, "#808080") == 1);
  BOOST_TEST(count(one, "nan") == 0);
  BOOST_TEST(count(one, "viewBox=\"0 0 64 64\"") == 1);
  // The first row has two panels, and the second row has the third panel.
  const std::string three = svg_heat_maps({image, image, image}, {.panels_per_row = 2});
  BOOST_TEST(count(three, "viewBox=\"0 0 94 94\"") == 1);
  BOOST_TEST(svg_heat_maps({}).ends_with("</svg>\n"));
}

BOOST_AUTO_TEST_CASE(an_inconsistent_heat_map_is_rejected) {
  HeatMap map{.title = "m", .rows = 2, .columns = 2, .values = {1, 2, 3}};
  BOOST_CHECK_EXCEPTION(svg_heat_maps({map}), ArgumentError,
                        message_contains({"the heat map 'm' of 2 x 2 has 3 values"}));
  map.values.push_back(4);
  map.row_labels = {"a"};
  BOOST_CHECK_EXCEPTION(svg_heat_maps({map}), ArgumentError,
                        message_contains({"has 1 labels of rows"}));
  BOOST_CHECK_EXCEPTION(heat_map(Tensor::of<float>({2}, {1, 2})), ShapeError,
                        message_contains({"a heat map requires a matrix, not f32[2]"}));
  BOOST_CHECK_EXCEPTION(svg_heat_maps({}, {.panels_per_row = 0}), ArgumentError,
                        message_contains({"panels_per_row must be at least 1, not 0"}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
