// Affine layers: y = x W + b.
#pragma once

#include <optional>

#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// Options of a linear layer.
struct LinearOptions {
  bool bias = true;
  /// [out, in] as in PyTorch's nn.Linear, or [in, out] as in GPT-2's Conv1D, so that weights in
  /// files can be used without transposing them.
  LinearLayout weight_layout = LinearLayout::out_in;
  /// Initializer of the weight. By default uniform in +-1/sqrt(in), as in PyTorch. Biases start at
  /// 0.
  std::optional<Initializer> initializer = {};
};

/// The parameters of an affine layer that can be applied more than once: "<scope>.weight" in the
/// layout of the options and, with bias, "<scope>.bias" [out].
struct Linear {
  Scope scope;
  Variable weight;
  Variable bias;  // undefined without bias
  LinearLayout layout;

  /// Maps x, floating-point [..., in], to [..., out].
  Value operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters.
Linear make_linear(const Scope& scope, DType dtype, std::int64_t in_features,
                   std::int64_t out_features, const LinearOptions& options = {},
                   SourceLocation loc = SourceLocation::current());

/// Declares an affine layer and applies it to x, floating-point [..., in]. Returns [...,
/// out_features]. Throws ShapeError if the size of the last axis of x is unknown, and DTypeError if
/// x is not floating-point.
Value linear(const Scope& scope, Value x, std::int64_t out_features,
             const LinearOptions& options = {}, SourceLocation loc = SourceLocation::current());

}  // namespace weft
