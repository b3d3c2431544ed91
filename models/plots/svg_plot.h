// Line charts as SVG: enough for loss curves, with no dependency.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft {

/// One line of a chart.
struct PlotSeries {
  std::string name = {};
  std::vector<std::pair<double, double>> points =
      {};  // (x, y), x ascending; points not finite are left out
  /// A thin pale line for noisy values (per-step losses), with a smoothed one over it.
  bool noisy = false;
};

struct PlotOptions {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  int width = 860, height = 480;  // pixels
};

/// A self-contained SVG document with axes, round tick labels and a legend. Readable in light and
/// dark viewers (it paints its own background).
std::string svg_line_plot(const std::vector<PlotSeries>& series, const PlotOptions& options);

}  // namespace weft
