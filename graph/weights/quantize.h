// Weights in fewer bits: a transform of programs and their variables, for inference.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/variable_store.h"

namespace weft {

/// How weight matrices are kept: bf16 (half the bytes of f32), int8 with one scale per output
/// channel (a quarter), int4 with one f16 scale per output channel and 32 inputs (4.5 bits a
/// weight). ops/quantized.h has the details.
enum class WeightFormat { bf16, int8, int4 };
/// "bf16", "int8", "int4".
std::string_view weight_format_name(WeightFormat format);
/// Inverse. Throws ArgumentError that lists the names.
WeightFormat parse_weight_format(std::string_view name);

struct QuantizeOptions {
  WeightFormat weights = WeightFormat::int8;
  /// Names of the matrices to convert, with * and ? as in a shell.
  std::vector<std::string> patterns = {"*"};
  /// Keeps f32 caches (keys and values of decoding) as bf16: half the bytes to read per token, and
  /// each of them rounded once.
  bool narrow_caches = false;
};

struct ConvertedWeight {
  std::string name;
  std::string type;  // before: "f32[768, 2304]"
  std::size_t bytes_before = 0, bytes_after = 0;
};

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
/// A matrix W becomes the frozen parameter W in bf16, [outputs, inputs] whatever W was (one row is
/// multiplied twice as fast by that), or W.q and W.scale; aliases likewise. The programs read
/// cast(W), its axes swapped back where need be, or dequantize(W.q, W.scale); passes see to it that
/// whole matrices of floats are never made.
///
/// Throws ArgumentError where a program updates a matrix to be converted (quantised weights cannot
/// be trained), where a pattern names no matrix that can be converted (lists those that can), where
/// there are no programs; GraphError for programs of several graphs; DataError, naming the matrix,
/// for weights that the format cannot hold; StateError where the store is torn.
QuantizedModel quantize(const std::vector<Program>& programs, const VariableStore& store,
                        const QuantizeOptions& options = {});

}  // namespace weft
