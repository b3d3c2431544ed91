// Axes of charts: positions and labels of ticks. Internal to models/plots.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Range of the numbers that an axis must show.
struct PlotRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double v);
  bool empty() const { return low > high; }
};

/// An axis: a range that is extended to round tick values at both ends.
class PlotAxis {
 public:
  /// Returns a linear axis with about `ticks` equidistant ticks.
  static PlotAxis linear(PlotRange range, int ticks);
  /// Returns a logarithmic axis with ticks at powers of ten, and in short ranges also at 2 and 5
  /// times powers of ten. The range must be positive.
  static PlotAxis logarithmic(PlotRange range);

  /// Returns the position of a value: 0 at the lower end, 1 at the upper end.
  double place(double v) const;
  const std::vector<double>& ticks() const { return ticks_; }
  std::string label(double tick) const;

 private:
  PlotAxis(bool logarithmic, std::vector<double> ticks, int decimals)
      : logarithmic_(logarithmic), ticks_(std::move(ticks)), decimals_(decimals) {}
  bool logarithmic_;
  std::vector<double> ticks_;
  int decimals_;
};

}  // namespace weft
