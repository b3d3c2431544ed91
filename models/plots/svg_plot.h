// Line charts as SVG (loss curves, errors, times), without dependencies.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// One line of a chart.
struct PlotSeries {
  std::string name = {};  // in the legend, if there is one
  /// (x, y) with ascending x. Points that are not finite are omitted. On logarithmic axes, points
  /// that are not positive are omitted, too.
  std::vector<std::pair<double, double>> points = {};
  /// Draws a thin pale line for noisy values (per-step losses), with a smoothed line over it.
  bool noisy = false;
  /// Draws a dashed line without marks, for example for a theoretical value or a bound.
  bool dashed = false;
  /// Draws marks without a line.
  bool scattered = false;
  /// Index of another series that has the same colour; -1: a separate colour.
  int colour = -1;
};

enum class PlotScale : std::uint8_t { linear, logarithmic };
enum class PlotLegend : std::uint8_t { top_right, top_left, bottom_right, bottom_left, beside };

struct PlotOptions {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  int width = 860, height = 480;  // pixels
  PlotScale x_scale = PlotScale::linear, y_scale = PlotScale::linear;
  PlotLegend legend = PlotLegend::top_right;
  /// Approximate ends of the y axis; lines beyond them are clipped. If NaN, they are chosen to fit
  /// the points.
  double y_low = std::numeric_limits<double>::quiet_NaN();
  double y_high = std::numeric_limits<double>::quiet_NaN();
};

/// One chart of a document with several charts.
struct LinePlot {
  std::vector<PlotSeries> series = {};
  PlotOptions options = {};
};

/// Returns a self-contained SVG document with axes, round tick labels and a legend. Its white
/// background makes it readable in light and dark viewers.
std::string svg_line_plot(const std::vector<PlotSeries>& series, const PlotOptions& options);

/// As above, with several charts in rows of `per_row` below a common title. Throws ArgumentError if
/// `per_row` is less than 1.
std::string svg_line_plots(const std::vector<LinePlot>& plots, const std::string& title,
                           int per_row = 2);

}  // namespace weft
