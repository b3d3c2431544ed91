// Multi-head causal self-attention (Vaswani et al. 2017), with what decoders add to it: grouped
// heads, rotary and linear-bias positions, a local window, caches of keys and values.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/models/fields/choice.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/positions.h"

namespace WEFT_API weft {

/// How queries, keys and values are made of x.
enum class QkvProjection : std::uint8_t {
  fused,          // one matrix, all queries before all keys before all values (GPT-2)
  fused_by_head,  // one matrix, query, key and value of a head side by side (GPT-NeoX)
  separate,       // a matrix each (LLaMA)
};
/// "fused", "fused_by_head", "separate".
ChoiceNames choice_names(QkvProjection);

/// How keys that causality or the window forbid are kept out where there is also a padding mask.
/// Published models differ, and it shows in rows that have no key of their own: whose tokens are
/// all padding so far.
struct PaddedCausality {
  double score = 0;  // of a forbidden key; 0 means the lowest number
  bool added =
      false;  // to the score of the key (LLaMA), which then gets gradients; not in its place
};

struct SelfAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;   // of keys and values, a divisor of heads; 0 means heads
  std::int64_t head_size = 0;  // features per head; 0 means width / heads
  bool causal = true;
  std::int64_t window = 0;  // a query sees itself and window - 1 tokens before; 0 = all
  /// Factor on the scores; 0 means 1 / sqrt(head_size).
  double scale = 0;
  QkvProjection projection = QkvProjection::fused;
  std::int64_t rotary = 0;  // features per head that turn with the position (RoPE); 0 = none
  double rotary_base = 10000;
  RotaryScaling rotary_scaling = {};
  bool linear_bias = false;  // scores fall with the distance (ALiBi, Press et al. 2022)
  PaddedCausality padded = {};
  LinearOptions in = {};   // of queries, keys, values
  LinearOptions out = {};  // heads * head_size -> width
  /// Names of the layers below the scope; separate projections are "query", "key", "value".
  std::string in_name = "c_attn", out_name = "c_proj";
};

/// Keys and values of earlier tokens, for incremental decoding.
struct AttentionCache {
  Variable keys = {}, values = {};  // kind cache, [batch, kv_heads, capacity, head_size]
  Value position = {};  // i64 scalar: tokens that are in the cache already, the same in every row
};

/// What differs from call to call.
struct AttentionInputs {
  double dropout = 0;      // rate on the probabilities
  Value dropout_key = {};  // required if the rate is not 0
  /// Additive mask [batch or 1, 1, queries or 1, keys] whose entries are 0 or very negative. The
  /// probabilities are then made by softmax(scores + mask) in primitives, O(queries * keys) memory:
  /// this is what Hugging Face's models compute, also where a row has no key left.
  Value additive_mask = {};
  /// Optional, bool [batch, 1, queries, keys], not with a cache or an additive mask: false for keys
  /// that a query does not see, besides those that causality and the window forbid. Every query
  /// must see one.
  Value mask = {};
  /// Positions for RoPE, i32 or i64 [batch, seq] or [seq]; 0, 1, ... if undefined (after those in
  /// the cache).
  Value position_ids = {};
  /// Decode: x holds new tokens; they are appended to the cache and see all that came before.
  AttentionCache* cache = nullptr;
  /// With a cache, optional: bool [batch, capacity], false for entries that are padding.
  Value cache_mask = {};
};

/// The variables of self-attention.
struct SelfAttention {
  Scope scope;
  SelfAttentionOptions options;  // with defaults filled in
  Linear in;                     // fused
  Linear query, key, value;      // separate
  Linear out;

  /// x [batch, seq, width] -> [batch, seq, width]. With a cache, `updates` receives its new values
  /// (an overflow of the capacity is a DataError of the run).
  Value operator()(Value x, const AttentionInputs& inputs = {}, Updates* updates = nullptr,
                   SourceLocation loc = SourceLocation::current()) const;
};

/// Declares "<scope>.c_attn" (or "<scope>.{query,key,value}") and "<scope>.c_proj" (names as
/// options say). Throws ArgumentError where width is not a multiple of heads (and head_size
/// is 0), or heads not of kv_heads.
SelfAttention make_self_attention(const Scope& scope, DType dtype, std::int64_t width,
                                  const SelfAttentionOptions& options,
                                  SourceLocation loc = SourceLocation::current());

/// Declares and applies self-attention to x, floating [batch, seq, width].
Value self_attention(const Scope& scope, Value x, const SelfAttentionOptions& options,
                     SourceLocation loc = SourceLocation::current());

/// The slopes of ALiBi's heads: 2^(-8 i / n) for i from 1 where n heads are a power of two;
/// otherwise those of the power below and every other one of the power above.
std::vector<double> linear_bias_slopes(std::int64_t heads);

}  // namespace weft
