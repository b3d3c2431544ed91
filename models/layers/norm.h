// Normalisation over the last axis.
#pragma once

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct NormLayerOptions {
  double eps = 1e-5;
  bool bias = true;  // layer norms only
  bool rms = false;  // RMSNorm instead of LayerNorm
};

/// The variables of a LayerNorm (Ba et al. 2016) or an RMSNorm (Zhang and Sennrich 2019):
/// "<scope>.weight" [width] (starts at 1) and "<scope>.bias" [width] (starts at 0, if any).
struct Norm {
  Scope scope;
  Variable weight;
  Variable bias;  // undefined if there is none
  double eps;
  bool rms = false;

  /// (x - mean) / sqrt(variance + eps) * weight + bias over the last axis, or x / sqrt(mean(x^2) +
  /// eps) * weight; same type as x.
  Value operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the variables of the norm that the options ask for.
Norm make_norm(const Scope& scope, DType dtype, std::int64_t width,
               const NormLayerOptions& options = {},
               SourceLocation loc = SourceLocation::current());

/// Declares and applies a LayerNorm over the last axis of x, floating [..., width].
Value layer_norm(const Scope& scope, Value x, const NormLayerOptions& options = {},
                 SourceLocation loc = SourceLocation::current());

/// Declares and applies an RMSNorm over the last axis of x, floating [..., width].
Value rms_norm(const Scope& scope, Value x, const NormLayerOptions& options = {},
               SourceLocation loc = SourceLocation::current());

}  // namespace weft
