// Feed-forward blocks of experts with stacked weights, which compute all experts with grouped
// matrix products.
#pragma once

#include <cstdint>

#include "weft/graph/ir/scope.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

struct ExpertsOptions {
  std::int64_t experts = 8;
  std::int64_t inner = 0;  // 0 means 4 * width
  Activation activation = Activation::silu;
  /// Compute down(activation(gate(x)) * up(x)) instead of down(activation(up(x))).
  bool gated = true;
  bool bias = false;
};

/// The parameters of the experts: "<scope>.up" and, if gated, "<scope>.gate" [experts, width,
/// inner], and "<scope>.down" [experts, inner, width]. With bias also "<scope>.up_bias" and
/// "<scope>.gate_bias" [experts, inner], and "<scope>.down_bias" [experts, width].
struct Experts {
  Scope scope;
  Variable gate, up, down;                 // gate is undefined if not gated
  Variable gate_bias, up_bias, down_bias;  // undefined without bias
  Activation activation;

  /// Maps rows x [n, width] that are sorted by expert to [n, width]. The next counts[e] rows belong
  /// to expert e (i32 or i64 [experts]). Rows after the last expert's rows give 0. Errors are those
  /// of grouped_matmul.
  Value operator()(Value x, Value counts, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Weights start uniform in +-1/sqrt(inputs), as in linear layers, and
/// biases at 0. Throws ArgumentError for sizes below 1.
Experts make_experts(const Scope& scope, DType dtype, std::int64_t width,
                     const ExpertsOptions& options = {},
                     SourceLocation loc = SourceLocation::current());

}  // namespace weft
