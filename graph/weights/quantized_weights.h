// Weight matrices in fewer bits as programs read them: what stands in the place of a matrix W.
//
//   bf16         the frozen parameter W, [outputs, inputs] whatever W was (one row is multiplied
//                twice as fast by that); programs read cast(W), its axes swapped back where need be
//   int8, int4   the frozen parameters W.q and W.scale; programs read dequantize(W.q, W.scale)
//
// Aliases likewise. Passes see to it that whole matrices of floats are never made: neither in
// products nor in their gradients.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// How weight matrices are kept: bf16 (half the bytes of f32), int8 with one scale per output
/// channel (a quarter), int4 with one f16 scale per output channel and 32 inputs (4.5 bits a
/// weight). ops/quantized.h has the details.
enum class WeightFormat { bf16, int8, int4 };
/// "bf16", "int8", "int4".
std::string_view weight_format_name(WeightFormat format);
/// Inverse. Throws ArgumentError that lists the names.
WeightFormat parse_weight_format(std::string_view name);

/// A matrix that is kept in fewer bits.
struct QuantizedWeight {
  WeightFormat format = WeightFormat::int8;
  std::int64_t inputs = 0, outputs = 0;
  bool out_in = false;  // programs read it as [outputs, inputs]

  /// Of the matrix as programs read it.
  Shape shape() const { return out_in ? Shape{outputs, inputs} : Shape{inputs, outputs}; }
};
/// By the names of the matrices.
using QuantizedWeights = std::map<std::string, QuantizedWeight, std::less<>>;

/// Where the programs of a graph read such a matrix.
struct QuantizedRead {
  std::string name;  // of the matrix: "W"
  QuantizedWeight weight;
  Value value;             // the matrix as floats
  Variable stored, scale;  // W and nothing, or W.q and W.scale
};
/// All of them in a graph that quantize() or with_quantized() made, in order of declaration.
std::vector<QuantizedRead> quantized_reads(const Graph& graph);
/// The same without their places.
QuantizedWeights quantized_weights(const Graph& graph);

/// What of a matrix is a variable: {"W.q", "W.scale"}, or {"W"}.
std::vector<std::string> stored_names(std::string_view name, WeightFormat format);

/// Programs in a graph of their own.
struct RewrittenPrograms {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::size_t narrow_caches = 0;  // how many caches became bf16
};

/// Copies of `programs` (all over one graph, before passes), which read these matrices in the place
/// of the f32 parameters of their names: no values are there yet. With `narrow_caches` f32 caches
/// become bf16. Throws ArgumentError where there is no such parameter, naming it, or one of another
/// shape.
RewrittenPrograms with_quantized(const std::vector<Program>& programs,
                                 const QuantizedWeights& weights, bool narrow_caches = false);

/// The inverse: copies that read f32 parameters again. Narrow caches stay so.
RewrittenPrograms without_quantized(const std::vector<Program>& programs);

}  // namespace weft
