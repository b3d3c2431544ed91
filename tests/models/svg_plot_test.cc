#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/plots/svg_plot.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(svg_plot)
namespace {

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

BOOST_AUTO_TEST_CASE(a_plot_has_lines_ticks_and_escaped_text) {
  PlotSeries train{"train", {}, true};
  for (int i = 0; i <= 200; ++i) train.points.emplace_back(i, 4.2 * std::exp(-i / 80.0));
  train.points.emplace_back(201, std::nan(""));
  const PlotSeries validation{"validation", {{0, 4.2}, {100, 1.9}, {200, 1.5}}, false};
  const std::string svg = svg_line_plot(
      {train, validation}, {.title = "a < b & c", .x_label = "step", .y_label = "loss"});
  BOOST_TEST(svg.starts_with("<svg xmlns="));
  BOOST_TEST(svg.ends_with("</svg>\n"));
  BOOST_TEST(count(svg, "<polyline") == 3);  // original points, smoothed curve, validation
  BOOST_TEST(count(svg, "<circle") == 3);
  BOOST_TEST(count(svg, "a &lt; b &amp; c") == 1);
  BOOST_TEST(count(svg, ">200</text>") == 1);
  BOOST_TEST(count(svg, "nan") == 0);
}

BOOST_AUTO_TEST_CASE(degenerate_plots_are_valid_documents) {
  for (const auto& points :
       {std::vector<std::pair<double, double>>{}, {{3, 2}}, {{0, 1}, {1, 1}}}) {
    const std::string svg = svg_line_plot({{"s", points, false}}, {.title = "t"});
    BOOST_TEST(count(svg, "nan") == 0);
    BOOST_TEST(count(svg, "inf") == 0);
    BOOST_TEST(svg.ends_with("</svg>\n"));
  }
}

BOOST_AUTO_TEST_CASE(logarithmic_axes_have_ticks_at_powers_of_ten_and_omit_nonpositive_values) {
  const PlotSeries wide{.name = "wide", .points = {{1, 1e-4}, {10, 0}, {100, -1}, {1000, 1e3}}};
  const std::string svg =
      svg_line_plot({wide}, {.x_scale = PlotScale::logarithmic, .y_scale = PlotScale::logarithmic});
  BOOST_TEST(count(svg, "<circle") == 2);
  for (const char* tick : {">0.0001<", ">0.01<", ">1000<", ">1<", ">10<"})
    BOOST_TEST(count(svg, tick) >= 1);
  // An axis of three decades also has ticks between the powers of ten.
  BOOST_TEST(count(svg, ">20<") == 1);
  BOOST_TEST(count(svg, ">0.002<") == 0);
  BOOST_TEST(count(svg, "nan") == 0);
  // Axes end at ticks, so the first point is in the lower left corner and the last point in the
  // upper right corner.
  BOOST_TEST(count(svg, R"(points="68.0,424.0 836.0,52.0 ")") == 1);
}

BOOST_AUTO_TEST_CASE(explicit_axis_limits_clip_the_lines) {
  const PlotSeries high{.name = "high", .points = {{0, 1}, {1, 1e6}, {2, 3}}};
  const std::string svg = svg_line_plot({high}, {.y_low = 0, .y_high = 5});
  BOOST_TEST(count(svg, "<svg") == 2);  // the inner element clips the lines
  BOOST_TEST(count(svg, "</svg>") == 2);
  BOOST_TEST(count(svg, ">5</text>") == 1);
  BOOST_TEST(count(svg, "1000000") == 0);
}

BOOST_AUTO_TEST_CASE(series_may_be_dashed_scattered_or_share_a_colour) {
  const std::vector<std::pair<double, double>> points = {{0, 1}, {1, 2}};
  const std::string svg =
      svg_line_plot({{.name = "measured", .points = points, .scattered = true},
                     {.name = "theory", .points = points, .dashed = true, .colour = 0}},
                    {.legend = PlotLegend::top_left});
  BOOST_TEST(count(svg, "<polyline") == 1);
  BOOST_TEST(count(svg, "<circle") == 3);           // two points and the legend entry
  BOOST_TEST(count(svg, "stroke-dasharray") == 2);  // the line and the legend entry
  BOOST_TEST(count(svg, "#ea580c") == 0);           // the second default colour
}

BOOST_AUTO_TEST_CASE(unnamed_lines_do_not_appear_in_the_legend) {
  const std::vector<std::pair<double, double>> points = {{0, 1}, {1, 2}};
  const std::string with = svg_line_plot({{.name = "named", .points = points}}, {}),
                    without = svg_line_plot({{.points = points}}, {});
  BOOST_TEST(count(with, "stroke-width=\"3\"") == 1);
  BOOST_TEST(count(without, "stroke-width=\"3\"") == 0);
}

BOOST_AUTO_TEST_CASE(several_plots_are_arranged_in_rows_under_one_title) {
  const LinePlot plot{.series = {{.name = "s", .points = {{0, 1}, {1, 2}}}},
                      .options = {.title = "one", .width = 300, .height = 200}};
  const std::string svg = svg_line_plots({plot, plot, plot}, "all", 2);
  BOOST_TEST(count(svg, R"(viewBox="0 0 600 440")") == 1);
  BOOST_TEST(count(svg, ">one</text>") == 3);
  BOOST_TEST(count(svg, ">all</text>") == 1);
  BOOST_CHECK_EXCEPTION(svg_line_plots({plot}, "all", 0), ArgumentError, [](const auto& e) {
    return std::string(e.what()) == "per_row must be at least 1, not 0";
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
