// Feed-forward blocks of experts with stacked weights, which compute all experts with grouped
// matrix products.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/graph/functions/linalg/linalg.h"
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
  /// If not 0, gated experts compute down(activation(min(gate(x), limit)) * (clamp(up(x), -limit,
  /// limit) + 1)). (GPT-OSS: 7 with quick_gelu.)
  double limit = 0;
  /// Dropout rate of the inputs of `down` in training mode.
  double dropout = 0;
  /// Layout of each weight matrix, so that stacked weights in files can be used without transposing
  /// them.
  LinearLayout weight_layout = LinearLayout::in_out;
  /// Initializers of `gate` and `up`, and of `down`. By default uniform in +-1/sqrt(inputs), as in
  /// linear layers.
  std::optional<Initializer> initializer = {}, down_initializer = {};
};

/// The parameters of the experts: "<scope>.up" and, if gated, "<scope>.gate" [experts, width,
/// inner], and "<scope>.down" [experts, inner, width]. The last two axes are swapped in the layout
/// out_in. With bias also "<scope>.up_bias" and "<scope>.gate_bias" [experts, inner], and
/// "<scope>.down_bias" [experts, width].
struct Experts {
  Scope scope;
  Variable gate, up, down;                 // gate is undefined if not gated
  Variable gate_bias, up_bias, down_bias;  // undefined without bias
  Activation activation;
  LinearLayout layout = LinearLayout::in_out;
  double limit = 0;
  double dropout = 0;

  /// Maps rows x [n, width] that are sorted by expert to [n, width]. The next counts[e] rows belong
  /// to expert e (i32 or i64 [experts]). Rows after the last expert's rows give 0. Errors are those
  /// of grouped_matmul.
  Value operator()(Value x, Value counts, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Biases start at 0. Throws ArgumentError for sizes below 1, and for a
/// limit that is negative, not finite, or without gates.
Experts make_experts(const Scope& scope, DType dtype, std::int64_t width,
                     const ExpertsOptions& options = {},
                     SourceLocation loc = SourceLocation::current());

}  // namespace weft
