// Weight quantisation: a transform of programs and their variables, for inference and for training
// adapters (lora.h).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/graph/functions/fake_quantize.h"
#include "weft/graph/weights/quantized_weights.h"

namespace WEFT_API weft {

/// Options of quantize().
struct QuantizeOptions {
  WeightFormat weights = WeightFormat::int8;
  /// int8 also rounds the inputs of products with the converted matrices, so that the products can
  /// be computed with integers. Not available for bf16 weights. Stacks keep float inputs.
  ActivationFormat activations = ActivationFormat::none;
  /// Name patterns of the matrices to convert, with shell wildcards * and ?.
  std::vector<std::string> patterns = {"*"};
  /// Name patterns of matrices among them that are stored as bf16 instead, with float inputs.
  std::vector<std::string> keep = {};
  /// Format of f32 caches (keys and values for decoding). bf16 halves the bytes that are read per
  /// token, int8 takes about a quarter; every cached number is rounded once.
  CacheFormat caches = CacheFormat::f32;
  /// Static scales of int8 inputs, by matrix name (see calibrate.h). They are not used for matrices
  /// with float inputs. The inputs of other matrices have one scale per row.
  std::map<std::string, float, std::less<>> activation_scales = {};
};

/// A converted matrix, for reports.
struct ConvertedWeight {
  std::string name;
  std::string type;  // original type, such as "f32[768, 2304]"
  std::size_t bytes_before = 0, bytes_after = 0;
  /// Format of the converted matrix. For dequantize(), the former format.
  QuantizedWeight weight = {};
};

/// Programs with converted weights.
struct QuantizedModel {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::shared_ptr<VariableStore> store;
  std::vector<ConvertedWeight> weights;  // in declaration order
  std::size_t narrow_caches = 0;         // number of caches in a format other than f32
};

/// Copies `programs` (all over one graph, before passes) into a new graph and their variables into
/// a new store, and converts weight matrices to another format. Weight matrices are f32 parameters
/// with two axes that the programs use only as the second operand of matmul or for lookups of rows
/// (embeddings), and f32 parameters with three axes that they use only as the second operand of
/// grouped_matmul (experts); all uses must agree on which axis holds the inputs. All other
/// variables, including norms and biases, are unchanged and share memory with the originals.
///
/// quantized_weights.h describes the variables and expressions that replace a matrix.
///
/// Throws
/// - ArgumentError if a program updates a matrix to be converted (quantised weights cannot be
///   trained), if a pattern matches no matrix that can be converted (the message lists the matrices
///   that can be converted), if a static scale is not in [2^-100, 2^100], belongs to no variable or
///   is given without int8 activations, for bf16 weights with int8 activations, or if there are
///   no programs;
/// - GraphError if the programs belong to several graphs;
/// - DataError, naming the matrix, if the format cannot represent the weights;
/// - StateError if the store is torn.
QuantizedModel quantize(const std::vector<Program>& programs, const VariableStore& store,
                        const QuantizeOptions& options = {});

/// The inverse of quantize(): converts the matrices whose names match one of the patterns back to
/// f32 parameters, which have the rounded values. Narrow caches remain narrow. Throws ArgumentError
/// if there are no programs or no such matrices.
QuantizedModel dequantize(const std::vector<Program>& programs, const VariableStore& store,
                          const std::vector<std::string>& patterns = {"*"});

}  // namespace weft
