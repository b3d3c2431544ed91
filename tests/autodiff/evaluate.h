// A value of a graph, for tests of its gradients.
#pragma once

#include <vector>

#include "weft/graph/run/session.h"

namespace weft::testing {

/// Elements of `v` (f64) for these inputs.
inline std::vector<double> evaluate(Graph& graph, Value v, const NamedTensors& feeds) {
  Session session(graph, {.threads = 1});
  return session.run(Program("evaluate").output("v", v), feeds)["v"].to_vector<double>();
}

/// Where functions of three numbers are looked at.
inline const Tensor kPoint = Tensor::of<double>({3}, {0.5, -1, 2});

}  // namespace weft::testing
