// The tensors with which a run of a program starts, for the interpreter in tests/reference.
#pragma once

#include "weft/testing/run_checks.h"
#include "weft/tests/reference/evaluate_graph.h"

namespace weft::testing {

/// Tensors for inputs and variables, and the values of the program's symbols.
struct StartValues {
  Feed feed;
  Bindings bindings;
};
StartValues start_values(Graph& graph, const Program& program, const RunSetup& setup);

}  // namespace weft::testing
