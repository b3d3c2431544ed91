// Matrices as coloured cells, as SVG: confusion matrices, attention maps, images.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

enum class HeatColours : std::uint8_t {
  blues,  // white for the lowest value to dark blue for the highest
  greys,  // black to white: an image
};

/// A matrix and how it is drawn.
struct HeatMap {
  std::string title = {};
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values = {};  // [rows, columns], row-major; a cell not finite stays empty
  /// Names of rows and columns: as many as there are, or none.
  std::vector<std::string> row_labels = {}, column_labels = {};
  std::string row_axis = {}, column_axis = {};  // what rows and columns are: "true", "predicted"
  HeatColours colours = HeatColours::blues;
  /// Values of the ends of the colour scale; those beyond take the end's colour. NaN: the smallest
  /// value or 0, whichever is less, and the largest value.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  int decimals = 0;         // of the numbers in cells and at the scale
  bool show_values = true;  // numbers in the cells
  bool show_scale = true;   // a bar of the colours with its ends' values
  int cell = 0;             // pixels per cell; 0: as the matrix asks for (10 to 44)
};

/// A matrix [rows, columns] of any numeric dtype as a heat map without labels. ShapeError for
/// another rank.
HeatMap heat_map(const Tensor& matrix);

struct HeatMapOptions {
  std::string title = {};
  int panels_per_row = 4;
};

/// A self-contained SVG document of the heat maps, in rows of `panels_per_row`. Paints its own
/// background. ArgumentError where a map's values or labels do not fit its sizes.
std::string svg_heat_maps(const std::vector<HeatMap>& maps, const HeatMapOptions& options = {});

}  // namespace weft
