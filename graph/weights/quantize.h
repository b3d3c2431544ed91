// Weights in fewer bits: a transform of programs and their variables, for inference and for
// training adapters (lora.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/run/variable_store.h"
#include "weft/graph/weights/quantized_weights.h"

namespace WEFT_API weft {

struct QuantizeOptions {
  WeightFormat weights = WeightFormat::int8;
  /// Names of the matrices to convert, with * and ? as in a shell.
  std::vector<std::string> patterns = {"*"};
  /// Keeps f32 caches (keys and values of decoding) as bf16: half the bytes to read per token, and
  /// each of them rounded once.
  bool narrow_caches = false;
};

/// A matrix that was converted, for reports.
struct ConvertedWeight {
  std::string name;
  std::string type;  // before: "f32[768, 2304]"
  std::size_t bytes_before = 0, bytes_after = 0;
};

/// Programs over weights in another format.
struct QuantizedModel {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::shared_ptr<VariableStore> store;
  std::vector<ConvertedWeight> weights;  // in order of declaration
  std::size_t narrow_caches = 0;         // how many caches became bf16
};

/// Copies of `programs` (all over one graph, before passes) in a graph of its own, over a store of
/// its own, in which weight matrices are kept in another format: f32 parameters with two axes that
/// the programs only multiply by (the second operand of matmul) or take rows of (embeddings), with
/// the same inputs wherever they are used. Everything else, norms and biases too, stays as it is
/// and shares its memory.
///
/// quantized_weights.h says what the programs read in the place of a matrix.
///
/// Throws ArgumentError where a program updates a matrix to be converted (quantised weights cannot
/// be trained), where a pattern names no matrix that can be converted (lists those that can), where
/// there are no programs; GraphError for programs of several graphs; DataError, naming the matrix,
/// for weights that the format cannot hold; StateError where the store is torn.
QuantizedModel quantize(const std::vector<Program>& programs, const VariableStore& store,
                        const QuantizeOptions& options = {});

/// The inverse: matrices are f32 parameters again, with the values that they were rounded to.
/// Narrow caches stay so. Throws ArgumentError where there are no programs or no such matrices.
QuantizedModel dequantize(const std::vector<Program>& programs, const VariableStore& store);

}  // namespace weft
