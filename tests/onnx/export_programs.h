// Programs that are written as ONNX files: loops, branches, sizes that are computed when the model
// runs, and combinations of operands that the samples of single ops do not cover.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/run/session.h"

namespace weft::testing {

/// A program and its inputs. `build` declares inputs, adds them to `feeds`, and returns the outputs
/// "y0", "y1", ...
struct ExportProgram {
  std::string name;
  std::vector<Value> (*build)(Graph& graph, NamedTensors& feeds);
  /// False if ONNX has no operators with these gradients, or Weft has no gradients.
  bool differentiable = true;
};

/// Returns all programs.
const std::vector<ExportProgram>& export_programs();
/// Builds a program with the name "predict".
Program build_program(const ExportProgram& from, Graph& graph, NamedTensors& feeds);

}  // namespace weft::testing
