// Affine layers: y = x W + b.
#pragma once

#include <optional>

#include "weft/graph/functions/linalg.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct LinearOptions {
  bool bias = true;
  /// [out, in] as PyTorch's nn.Linear, or [in, out] as GPT-2's Conv1D; files are used as they are.
  LinearLayout weight_layout = LinearLayout::out_in;
  /// Of the weight; absent means uniform in +-1/sqrt(in), as PyTorch. Biases start at 0.
  std::optional<Initializer> initializer = {};
};

/// The variables of an affine layer, to be applied more than once.
/// Parameters: "<scope>.weight" in the layout asked for, "<scope>.bias" [out] (if any).
struct Linear {
  Scope scope;
  Variable weight;
  Variable bias;  // undefined if there is none
  LinearLayout layout;

  /// x: floating [..., in] -> [..., out].
  Value operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the variables.
Linear make_linear(const Scope& scope, DType dtype, std::int64_t in_features,
                   std::int64_t out_features, const LinearOptions& options = {},
                   SourceLocation loc = SourceLocation::current());

/// Declares and applies an affine layer: x floating [..., in] -> [..., out_features]. Throws
/// ShapeError where the last axis of x has no known size, DTypeError where x is not floating.
Value linear(const Scope& scope, Value x, std::int64_t out_features,
             const LinearOptions& options = {}, SourceLocation loc = SourceLocation::current());

}  // namespace weft
