// Axes of charts: where ticks are, and what they are called. Internal to models/plots.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The numbers that an axis must show.
struct PlotRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double v);
  bool empty() const { return low > high; }
};

/// A range widened to its ticks, which are round numbers.
class PlotAxis {
 public:
  /// About `ticks` ticks, equally far from one another.
  static PlotAxis linear(PlotRange range, int ticks);
  /// Ticks at powers of ten, in short ranges at 2 and 5 times them, too. The range is positive.
  static PlotAxis logarithmic(PlotRange range);

  /// 0 at the lower end, 1 at the upper one.
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
