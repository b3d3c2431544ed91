// Heat maps as SVG: confusion matrices, attention maps, images.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

enum class HeatColours : std::uint8_t {
  blues,  // from white for the lowest value to dark blue for the highest
  greys,  // from black to white, for images
};

/// A matrix and its drawing options.
struct HeatMap {
  std::string title = {};
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values = {};  // [rows, columns], row-major; non-finite cells stay empty
  /// Names of all rows and of all columns, or empty.
  std::vector<std::string> row_labels = {}, column_labels = {};
  std::string row_axis = {}, column_axis = {};  // titles of the axes: "true", "predicted"
  HeatColours colours = HeatColours::blues;
  /// Values at the ends of the colour scale; values beyond an end have its colour. NaN selects the
  /// defaults: the smaller of 0 and the smallest value for `low`, and the largest value for `high`.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  int decimals = 0;         // of the numbers in the cells and on the colour scale
  bool show_values = true;  // numbers in the cells
  bool show_scale = true;   // a colour bar with the values at its ends
  int cell = 0;             // pixels per cell; 0: depends on the size of the matrix (10 to 44)
};

/// Returns a matrix [rows, columns] of any numeric dtype as a heat map without labels. Throws
/// ShapeError if the tensor does not have two axes.
HeatMap heat_map(const Tensor& matrix);

struct HeatMapOptions {
  std::string title = {};
  int panels_per_row = 4;
};

/// Returns a self-contained SVG document with the heat maps in rows of `panels_per_row`, on a white
/// background. Throws ArgumentError if the number of values or labels of a map does not match its
/// size.
std::string svg_heat_maps(const std::vector<HeatMap>& maps, const HeatMapOptions& options = {});

}  // namespace weft
