#include "weft/models/layers/positions.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {

Value sinusoidal_positions(Value positions, std::int64_t width, DType dtype, SourceLocation loc) {
  Graph& graph = positions.graph();
  Graph::Frame frame(graph, "sinusoidal_positions", loc);
  if (width < 2 || width % 2 != 0) {
    graph.fail(
        ArgumentError(fmt::format("width must be even, for sines and cosines, not {}", width)),
        "sinusoidal_positions", {positions}, loc);
  }
  std::vector<double> rates;
  for (std::int64_t j = 0; j < width / 2; ++j) {
    rates.push_back(std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(width)));
  }
  // In double: sines of large angles in single precision would be off by p * 1e-7.
  const Value angle = unsqueeze(cast(positions, DType::f64), positions.rank()) *
                      graph.constant(Tensor::of({width / 2}, rates));
  return cast(concat({sin(angle), cos(angle)}, -1), dtype);
}

}  // namespace weft
