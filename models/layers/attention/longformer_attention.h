// Sliding-window attention with global tokens (Beltagy et al. 2020, "Longformer").
#pragma once

#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

struct LongformerAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t head_size = 0;  // 0 means width / heads
  /// A token attends to the tokens at distances of at most window / 2; 0 = to all tokens.
  std::int64_t window = 512;
  LinearOptions in = {}, out = {};
};

/// Inputs of one application of LongformerAttention, in addition to x.
struct LongformerInputs {
  /// Optional, any dtype, [batch, seq]: 1 for tokens, 0 for padding. Nothing attends to padding,
  /// and the attention output for padding is 0.
  Value mask = {};
  /// Optional, any dtype, [batch, seq]: tokens with nonzero entries have global attention; padding
  /// never has it.
  Value global_mask = {};
  double dropout = 0;  // on the attention probabilities
  Value dropout_key = {};
};

/// The parameters
/// "<scope>.{query,key,value,global_query,global_key,global_value,out}.{weight,bias}".
struct LongformerAttention {
  Scope scope;
  Linear query, key, value, global_query, global_key, global_value, out;
  std::int64_t heads, head_size, window;

  /// Maps x [batch, seq, width] to [batch, seq, width]. A token attends to its window and to all
  /// global tokens of its row, and a global token to all tokens, with separate projections. Memory
  /// is O(seq). Time is O(seq (window + global tokens)) if a row has at most 64 global tokens, and
  /// otherwise O(seq^2). With a global mask, attention_maps() returns several maps: the map with
  /// the scope of the layer is that of the window, in which global tokens are not keys; in the maps
  /// with the scope "<scope>.global", the global tokens come first.
  Value operator()(Value x, const LongformerInputs& inputs = {},
                   SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Throws ArgumentError if width is not a multiple of heads (with
/// head_size 0).
LongformerAttention make_longformer_attention(const Scope& scope, DType dtype, std::int64_t width,
                                              const LongformerAttentionOptions& options,
                                              SourceLocation loc = SourceLocation::current());

}  // namespace weft
