// Evaluates a value of a graph in gradient tests.
#pragma once

#include <vector>

#include "weft/graph/run/session.h"

namespace weft::testing {

/// Returns the elements of `v` (f64) for the given feeds.
inline std::vector<double> evaluate(Graph& graph, Value v, const NamedTensors& feeds) {
  Session session(graph, {.threads = 1});
  return session.run(Program("evaluate").output("v", v), feeds)["v"].to_vector<double>();
}

/// The point at which functions of three numbers are evaluated.
inline const Tensor kPoint = Tensor::of<double>({3}, {0.5, -1, 2});

}  // namespace weft::testing
