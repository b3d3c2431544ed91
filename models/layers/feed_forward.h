// The position-wise feed-forward block of transformers.
#pragma once

#include <optional>
#include <string>

#include "weft/models/layers/activation.h"
#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

struct FeedForwardOptions {
  std::int64_t inner = 0;  // 0 means 4 * width
  Activation activation = Activation::gelu_tanh;
  LinearOptions up = {};    // width -> inner
  LinearOptions down = {};  // inner -> width
  /// Names of the layers below the scope.
  std::string up_name = "c_fc", down_name = "c_proj";
  /// Compute down(activation(gate(x)) * up(x)) (Shazeer 2020: SwiGLU with silu, GeGLU with gelu).
  bool gated = false;
  std::string gate_name = "gate";
  /// Keep gate and up in one matrix, width -> 2 * inner: all features of the gate, then all
  /// features of up (Phi-3). Requires `gated`.
  bool fused_gate = false;
  std::string fused_name = "gate_up";
};

/// The parameters of a feed-forward block, down(activation(up(x))) or its gated form.
struct FeedForward {
  Scope scope;
  Linear up, down;  // `up` includes the gate if it is fused
  Activation activation;
  std::optional<Linear> gate = {};
  bool fused_gate = false;

  /// Maps x [..., width] to the input of `down`, [..., inner].
  Value hidden(Value x) const;
  /// Maps x [..., width] to [..., width].
  Value operator()(Value x, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares "<scope>.c_fc", "<scope>.c_proj" and, if gated, "<scope>.gate" (or "<scope>.gate_up"
/// instead of the first and the last); the options can change the names. Throws ArgumentError for
/// a fused gate without `gated`.
FeedForward make_feed_forward(const Scope& scope, DType dtype, std::int64_t width,
                              const FeedForwardOptions& options = {},
                              SourceLocation loc = SourceLocation::current());

/// Declares a feed-forward block and applies it to x, floating [..., width].
Value feed_forward(const Scope& scope, Value x, const FeedForwardOptions& options = {},
                   SourceLocation loc = SourceLocation::current());

}  // namespace weft
