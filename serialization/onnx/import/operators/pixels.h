// Pixels at positions that are computed in the graph: the common part of GridSample, DeformConv and
// RoiAlign.
#pragma once

#include <vector>

#include "weft/graph/ir/graph.h"

namespace weft::onnx {

/// Returns a size as a number that can be combined with a tensor of `dtype`.
Value size_number(Graph& graph, const Dim& size, DType dtype);

/// Returns x [N, C, sizes...] as rows [N sizes..., C], one for each pixel.
Value pixel_rows(Value x);

/// A neighbour of each position along one axis.
struct Neighbour {
  Value place;   // i64, inside of the axis
  Value weight;  // undefined if it is 1
  Value inside;  // bool: false if the neighbour counts as 0; undefined if every neighbour counts
};

/// Returns the two neighbours of positions along an axis for linear interpolation; pixels outside
/// of the axis count as 0.
std::vector<Neighbour> linear_neighbours(Value position, const Dim& size);

/// Returns the sums [positions..., C] of the weighted pixels of all combinations of neighbours
/// along the spatial axes, which have the given sizes. `image` is the number of the image of each
/// position.
Value weighted_pixels(Value rows, Value image, const std::vector<std::vector<Neighbour>>& axes,
                      const std::vector<Dim>& sizes);

}  // namespace weft::onnx
