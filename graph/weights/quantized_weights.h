// Quantised weight matrices: the parameters that replace a matrix W, and how programs read these
// parameters.
//
//   bf16         the frozen parameter W, always [outputs, inputs] (products with one row are twice
//                as fast in this layout); programs read cast(W), with axes swapped back if needed
//   int8, q8_0, int4
//                the frozen parameters W.q and W.scale; programs read dequantize(W.q, W.scale)
//
// A stack of matrices, which grouped_matmul reads (the experts of a mixture of experts), is
// represented in the same way, with an additional first axis.
//
// Aliases of W are replaced in the same way. Passes ensure that the whole f32 matrix is never
// computed, neither in products nor in their gradients.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/ops/quantized/quantized.h"

namespace WEFT_API weft {

/// Storage format of weight matrices: bf16 (half the bytes of f32), int8 with one scale per output
/// channel (a quarter), q8_0 and int4 with one f16 scale per output channel and 32 inputs (8.5 and
/// 4.5 bits per weight). q8_0 and int4 hold the numbers of Q8_0 and Q4_0 tensors of GGUF files. See
/// ops/quantized/quantized.h for details.
enum class WeightFormat { bf16, int8, int4, q8_0 };
/// Returns "bf16", "int8", "int4" or "q8_0".
std::string_view weight_format_name(WeightFormat format);
/// The inverse of weight_format_name(). For an unknown name, throws an ArgumentError that lists the
/// valid names.
WeightFormat parse_weight_format(std::string_view name);

/// Returns the format of the variables W.q and W.scale; std::nullopt for bf16.
std::optional<QuantizedFormat> quantized_format(WeightFormat format);
/// The inverse for int8, int4 and q8_0.
WeightFormat weight_format(QuantizedFormat format);

/// Format and sizes of a quantised matrix.
struct QuantizedWeight {
  WeightFormat format = WeightFormat::int8;
  std::int64_t inputs = 0, outputs = 0;
  bool out_in = false;     // true if programs read it as [outputs, inputs]
  std::int64_t stack = 0;  // number of matrices in a stack, 0 for a single matrix

  /// Shape of the matrix as programs read it, or of the stack.
  Shape shape() const;
};
/// Quantised matrices by name.
using QuantizedWeights = std::map<std::string, QuantizedWeight, std::less<>>;

/// A quantised matrix in a graph, and the value through which programs read it.
struct QuantizedRead {
  std::string name;  // name of the matrix: "W"
  QuantizedWeight weight;
  Value value;             // the f32 matrix
  Variable stored, scale;  // W and undefined (bf16), or W.q and W.scale (other formats)
};
/// Returns all quantised matrices in a graph made by quantize() or with_quantized(), in declaration
/// order.
std::vector<QuantizedRead> quantized_reads(const Graph& graph);
/// As above, but returns only the names, formats and sizes.
QuantizedWeights quantized_weights(const Graph& graph);

/// Returns the names of the variables that store a matrix: {"W.q", "W.scale"}, or {"W"} for bf16.
std::vector<std::string> stored_names(std::string_view name, WeightFormat format);

/// Rewritten copies of programs in a new graph.
struct RewrittenPrograms {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::size_t narrow_caches = 0;  // number of caches converted to bf16
};

/// Copies `programs` (all over one graph, before passes) so that they read the quantised matrices
/// `weights` instead of the f32 parameters of the same names. The new variables have no values yet.
/// If `narrow_caches` is true, f32 caches become bf16. If a parameter does not exist or has a
/// different shape, throws an ArgumentError that names it.
RewrittenPrograms with_quantized(const std::vector<Program>& programs,
                                 const QuantizedWeights& weights, bool narrow_caches = false);

/// The inverse of with_quantized(): returns copies that read f32 parameters in place of the
/// quantised matrices whose names match one of the patterns. Narrow caches remain narrow.
RewrittenPrograms without_quantized(const std::vector<Program>& programs,
                                    const std::vector<std::string>& patterns = {"*"});

}  // namespace weft
