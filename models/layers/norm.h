// LayerNorm and RMSNorm: normalisation over the last axis.
#pragma once

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct NormLayerOptions {
  double eps = 1e-5;
  bool bias = true;     // for LayerNorm only
  bool rms = false;     // RMSNorm instead of LayerNorm
  bool weights = true;  // false: neither weights nor biases (OLMo)
  /// Stores the weights minus 1, initialised to 0 (Gemma, Nemotron). Weight decay then pulls the
  /// weights towards 1.
  bool offset = false;
  /// If not 0, weights and biases are [heads, width], one row for each head of x [..., heads, seq,
  /// width] (norms of queries and keys in Cohere and StableLM).
  std::int64_t heads = 0;
};

/// The parameters of a LayerNorm (Ba et al. 2016) or an RMSNorm (Zhang and Sennrich 2019):
/// "<scope>.weight" [width], initialised to 1, and for a LayerNorm with bias "<scope>.bias"
/// [width], initialised to 0. Options change the shape or leave them out.
struct Norm {
  Scope scope;
  Variable weight = {};  // undefined without weights
  Variable bias = {};    // undefined without bias
  double eps = 1e-5;
  bool rms = false;
  bool offset = false;

  /// Returns (x - mean) / sqrt(variance + eps) * weight + bias over the last axis, or x /
  /// sqrt(mean(x^2) + eps) * weight for RMSNorm, with the type of x. With `offset`, the factor is 1
  /// + weight.
  Value operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters of the norm that the options select. Throws ArgumentError for a negative
/// number of heads and for an offset without weights.
Norm make_norm(const Scope& scope, DType dtype, std::int64_t width,
               const NormLayerOptions& options = {},
               SourceLocation loc = SourceLocation::current());

/// Declares a LayerNorm and applies it over the last axis of x, floating-point [..., width].
Value layer_norm(const Scope& scope, Value x, const NormLayerOptions& options = {},
                 SourceLocation loc = SourceLocation::current());

/// Declares an RMSNorm and applies it over the last axis of x, floating-point [..., width].
Value rms_norm(const Scope& scope, Value x, const NormLayerOptions& options = {},
               SourceLocation loc = SourceLocation::current());

}  // namespace weft
