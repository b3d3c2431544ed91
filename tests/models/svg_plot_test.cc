#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/models/plots/svg_plot.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(svg_plot)
namespace {

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

BOOST_AUTO_TEST_CASE(plot_has_lines_ticks_and_escaped_text) {
  PlotSeries train{"train", {}, true};
  for (int i = 0; i <= 200; ++i) train.points.emplace_back(i, 4.2 * std::exp(-i / 80.0));
  train.points.emplace_back(201, std::nan(""));
  const PlotSeries validation{"validation", {{0, 4.2}, {100, 1.9}, {200, 1.5}}, false};
  const std::string svg = svg_line_plot(
      {train, validation}, {.title = "a < b & c", .x_label = "step", .y_label = "loss"});
  BOOST_TEST(svg.starts_with("<svg xmlns="));
  BOOST_TEST(svg.ends_with("</svg>\n"));
  BOOST_TEST(count(svg, "<polyline") == 3);  // noisy, smoothed, validation
  BOOST_TEST(count(svg, "<circle") == 3);
  BOOST_TEST(count(svg, "a &lt; b &amp; c") == 1);
  BOOST_TEST(count(svg, ">200</text>") == 1);
  BOOST_TEST(count(svg, "nan") == 0);
}

BOOST_AUTO_TEST_CASE(degenerate_plots_are_still_documents) {
  for (const auto& points :
       {std::vector<std::pair<double, double>>{}, {{3, 2}}, {{0, 1}, {1, 1}}}) {
    const std::string svg = svg_line_plot({{"s", points, false}}, {.title = "t"});
    BOOST_TEST(count(svg, "nan") == 0);
    BOOST_TEST(count(svg, "inf") == 0);
    BOOST_TEST(svg.ends_with("</svg>\n"));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
