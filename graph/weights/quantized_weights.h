// Quantised weight matrices: the parameters that replace a matrix W, and how programs read these
// parameters.
//
//   bf16         the frozen parameter W, always [outputs, inputs] (products with one row are twice
//                as fast in this layout); programs read cast(W), with axes swapped back if needed
//   int8, q8_0, int4
//                the frozen parameters W.q and W.scale; programs read dequantize(W.q, W.scale)
//
// Products with an int8, q8_0 or int4 matrix may round their inputs to int8 as well: programs then
// compute matmul(fake_quantize(x), dequantize(W.q, W.scale)), or fake_quantize(x, c) with a
// constant c, the static scale of the inputs. Lookups of rows and stacks of matrices keep float
// inputs.
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

/// Rounding of the inputs of products with quantised matrices: none, or to int8 with one scale per
/// row (computed at run time) or a static scale.
enum class ActivationFormat { none, int8 };
/// Returns "none" or "int8".
std::string_view activation_format_name(ActivationFormat format);
/// The inverse of activation_format_name(). For an unknown name, throws an ArgumentError that lists
/// the valid names.
ActivationFormat parse_activation_format(std::string_view name);

/// Storage format of key and value caches: bf16 (half the bytes of f32), or int8 with one f32 scale
/// per position and head (pack_int8_rows, about a quarter).
enum class CacheFormat { f32, bf16, int8 };
/// Returns "f32", "bf16" or "int8".
std::string_view cache_format_name(CacheFormat format);
/// The inverse of cache_format_name(). For an unknown name, throws an ArgumentError that lists the
/// valid names.
CacheFormat parse_cache_format(std::string_view name);

/// Returns the format of the caches in a graph: f32 if it contains no caches.
CacheFormat cache_format(const Graph& graph);

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
  /// Rounding of the inputs of products with this matrix. Always none for bf16 and stacks.
  ActivationFormat activations = ActivationFormat::none;
  /// The static scale of int8 inputs; 0 means one scale per row.
  float activation_scale = 0;

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

/// Returns the number of matrices with rounded inputs.
std::size_t count_rounded_inputs(const QuantizedWeights& weights);
/// Throws an ArgumentError if a matrix in the graph has rounded inputs. `files` names the kind of
/// file that cannot express them, such as "GGUF files".
void check_float_inputs(const Graph& graph, std::string_view files);

/// Returns the names of the variables that store a matrix: {"W.q", "W.scale"}, or {"W"} for bf16.
std::vector<std::string> stored_names(std::string_view name, WeightFormat format);

/// Rewritten copies of programs in a new graph.
struct RewrittenPrograms {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::size_t narrow_caches = 0;  // number of caches converted to another format
};

/// Copies `programs` (all over one graph, before passes) so that they read the quantised matrices
/// `weights` instead of the f32 parameters of the same names, and round the inputs of products as
/// specified. The new variables have no values yet. f32 caches are converted to the format
/// `caches`. Throws an ArgumentError that names the parameter if it does not exist, has a different
/// shape, or is bf16 or a stack with rounded inputs.
RewrittenPrograms with_quantized(const std::vector<Program>& programs,
                                 const QuantizedWeights& weights,
                                 CacheFormat caches = CacheFormat::f32);

/// Returns the operand of products with a matrix, rounded as specified by `weight`.
Value rounded_operand(const Value& x, const QuantizedWeight& weight);
/// Returns the operand of a product with a quantised matrix before it was rounded: x for
/// fake_quantize(x) and fake_quantize(x, c), otherwise the operand itself.
Value float_operand(const Value& operand);

/// The inverse of with_quantized(): returns copies that read f32 parameters in place of the
/// quantised matrices that match one of the patterns by name, and do not round the inputs of their
/// products. Narrow caches remain narrow.
RewrittenPrograms without_quantized(const std::vector<Program>& programs,
                                    const std::vector<std::string>& patterns = {"*"});
/// Returns copies of the programs that do not round the inputs of products with quantised matrices.
/// The matrices remain quantised.
RewrittenPrograms without_rounded_inputs(const std::vector<Program>& programs);

}  // namespace weft
