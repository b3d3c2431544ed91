// Programs that are written as ONNX files: loops, branches, sizes that are computed when the model
// runs, and combinations of operands that the samples of single ops do not cover.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/tests/support/cases/symbolic_sample.h"

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

/// A network with an embedding that is also the last layer, a layer of 48 inputs and a layer with
/// experts, whose matrices have this format. Its input is `ids`.
QuantizedModel quantised_network(WeightFormat format, ActivationFormat activations,
                                 NamedTensors& feeds);

/// Builds the program "predict" with one call of an op. `symbolic` describes its sizes, or is null.
/// Quantised matrices become variables in `store`, because an ONNX file contains them in another
/// layout; all other operands are inputs.
Program sample_program(const OpRecord& op, const OpSample& sample, const SymbolicSample* symbolic,
                       Graph& graph, NamedTensors& feeds, VariableStore& store);

}  // namespace weft::testing
