// Line charts as SVG: loss curves, errors, times, with no dependency.
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
  /// (x, y), x ascending; points not finite, and on logarithmic axes those not positive, are left
  /// out.
  std::vector<std::pair<double, double>> points = {};
  /// A thin pale line for noisy values (per-step losses), with a smoothed one over it.
  bool noisy = false;
  /// A dashed line without marks: what theory says, a bound.
  bool dashed = false;
  /// Marks without a line.
  bool scattered = false;
  /// Number of the line whose colour this one has; -1: a colour of its own.
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
  /// Ends of the y axis, about; lines beyond are cut. NaN: as the points ask for.
  double y_low = std::numeric_limits<double>::quiet_NaN();
  double y_high = std::numeric_limits<double>::quiet_NaN();
};

/// A chart among others.
struct LinePlot {
  std::vector<PlotSeries> series = {};
  PlotOptions options = {};
};

/// A self-contained SVG document with axes, round tick labels and a legend. Readable in light and
/// dark viewers (it paints its own background).
std::string svg_line_plot(const std::vector<PlotSeries>& series, const PlotOptions& options);

/// The same with several charts, in rows of `per_row` (at least 1, else ArgumentError), below a
/// title of all.
std::string svg_line_plots(const std::vector<LinePlot>& plots, const std::string& title,
                           int per_row = 2);

}  // namespace weft
