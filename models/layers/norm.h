// LayerNorm and RMSNorm: normalisation over the last axis.
#pragma once

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct NormLayerOptions {
  double eps = 1e-5;
  bool bias = true;  // for LayerNorm only
  bool rms = false;  // RMSNorm instead of LayerNorm
};

/// The parameters of a LayerNorm (Ba et al. 2016) or an RMSNorm (Zhang and Sennrich 2019):
/// "<scope>.weight" [width], initialised to 1, and for a LayerNorm with bias "<scope>.bias"
/// [width], initialised to 0.
struct Norm {
  Scope scope;
  Variable weight = {};
  Variable bias = {};  // undefined without bias
  double eps = 1e-5;
  bool rms = false;

  /// Returns (x - mean) / sqrt(variance + eps) * weight + bias over the last axis, or x /
  /// sqrt(mean(x^2) + eps) * weight for RMSNorm, with the type of x.
  Value operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters of the norm that the options select.
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
