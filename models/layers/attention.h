// Multi-head self-attention (Vaswani et al. 2017).
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/models/layers/linear.h"

namespace weft {

struct SelfAttentionOptions {
  std::int64_t heads = 1;
  bool causal = true;
  /// Factor on the scores; 0 means 1 / sqrt(width / heads).
  double scale = 0;
  LinearOptions in = {};   // width -> 3 * width: queries, keys, values
  LinearOptions out = {};  // width -> width
  /// Names of the two layers below the scope.
  std::string in_name = "c_attn", out_name = "c_proj";
};

/// Keys and values of earlier tokens, for incremental decoding.
struct AttentionCache {
  Variable keys, values;  // kind cache, [batch, heads, capacity, head_size]
  Value position;         // i64 scalar: tokens that are in the cache already, the same in every row
};

/// What differs from call to call.
struct AttentionInputs {
  double dropout = 0;      // rate on the probabilities
  Value dropout_key = {};  // required if the rate is not 0
  /// Additive mask [batch or 1, 1, queries or 1, keys] whose entries are 0 or very negative. The
  /// probabilities are then made by softmax(scores + mask) in primitives, O(queries * keys) memory:
  /// this is what Hugging Face's models compute, also where a row has no key left.
  Value additive_mask = {};
  /// Decode: x holds new tokens; they are appended to the cache and see all that came before.
  AttentionCache* cache = nullptr;
};

/// The variables of self-attention.
struct SelfAttention {
  Scope scope;
  Linear in, out;
  std::int64_t heads;
  bool causal;
  double scale;

  /// x [batch, seq, width] -> [batch, seq, width]. With a cache, `updates` receives its new values
  /// (an overflow of the capacity is a DataError of the run).
  Value operator()(Value x, const AttentionInputs& inputs = {}, Updates* updates = nullptr,
                   SourceLocation loc = SourceLocation::current()) const;
};

/// Declares "<scope>.c_attn" and "<scope>.c_proj" (names as options say). Throws ArgumentError
/// where width is not a multiple of heads.
SelfAttention make_self_attention(const Scope& scope, DType dtype, std::int64_t width,
                                  const SelfAttentionOptions& options,
                                  SourceLocation loc = SourceLocation::current());

/// Declares and applies self-attention to x, floating [batch, seq, width].
Value self_attention(const Scope& scope, Value x, const SelfAttentionOptions& options,
                     SourceLocation loc = SourceLocation::current());

}  // namespace weft
