// Multi-head causal self-attention (Vaswani et al. 2017) with the extensions of decoder models:
// grouped heads, rotary and linear-bias positions, a local window, key/value caches.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/models/fields/choice.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// How queries, keys and values are projected from x.
enum class QkvProjection : std::uint8_t {
  fused,          // one matrix: all queries, then all keys, then all values (GPT-2)
  fused_by_head,  // one matrix: for each head, its query, key and value (GPT-NeoX)
  separate,       // one matrix for each (LLaMA)
};
/// The names are "fused", "fused_by_head" and "separate".
ChoiceNames choice_names(QkvProjection);

/// How keys excluded by causality or the window are masked in the presence of a padding mask.
/// Published models differ in this respect. The choice affects only queries without a visible key,
/// i.e. queries for which all tokens up to their position are padding.
struct PaddedCausality {
  /// Score of an excluded key; 0 means the lowest finite number.
  double score = 0;
  /// True: `score` is added to the key's score (LLaMA), which therefore gets a gradient. False:
  /// `score` replaces it.
  bool added = false;
};

/// Options of SelfAttention.
struct SelfAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;   // heads of keys and values, must divide heads; 0 means heads
  std::int64_t head_size = 0;  // features per head; 0 means width / heads
  bool causal = true;
  /// Size of the local window: a query attends to itself and the window - 1 tokens before it; 0 =
  /// no limit.
  std::int64_t window = 0;
  /// Factor for the scores; 0 means 1 / sqrt(head_size).
  double scale = 0;
  QkvProjection projection = QkvProjection::fused;
  /// Norms of the queries and keys of each head, with weights [head_size], before the rotation.
  std::optional<Norm> query_norm = {}, key_norm = {};
  /// Features per head that are rotated by the position (RoPE); 0 = none.
  std::int64_t rotary = 0;
  double rotary_base = 10000;
  RotaryScaling rotary_scaling = {};
  /// ALiBi (Press et al. 2022): scores decrease linearly with the distance.
  bool linear_bias = false;
  PaddedCausality padded = {};
  /// The projections of queries, keys and values.
  LinearOptions in = {};
  /// The output projection, heads * head_size -> width.
  LinearOptions out = {};
  /// Names of the fused projection and the output projection below the scope. Separate projections
  /// are called "query", "key" and "value".
  std::string in_name = "c_attn", out_name = "c_proj";
};

/// Key/value cache for incremental decoding. Tokens are appended in place, and attention reads the
/// cache in place.
struct AttentionCache {
  Variable keys = {}, values = {};  // of kind cache, [rows, kv_heads, capacity, head_size]
  /// Number of tokens in the cache, i64: [batch], or a scalar if it is the same in every row.
  Value position = {};
  /// Optional, i32 or i64 [batch]: the row of the cache for each row of the batch, without
  /// duplicates. By default, row b uses row b, and the cache has `batch` rows.
  Value rows = {};
  /// Optional, i64 scalar or [batch]: the length of the text, which only dynamic rotary scaling
  /// uses; by default position + the number of new tokens.
  Value text_length = {};
};

/// Inputs of one application of SelfAttention, in addition to x.
struct AttentionInputs {
  /// Dropout rate of the attention probabilities.
  double dropout = 0;
  /// The random key; required if the rate is not 0.
  Value dropout_key = {};
  /// Additive mask [batch or 1, 1, queries or 1, keys] whose entries are 0 or very negative. With
  /// it, the probabilities are computed as softmax(scores + mask) from primitives, in O(queries *
  /// keys) memory. This reproduces Hugging Face's models, even in rows without a visible key.
  Value additive_mask = {};
  /// Optional, bool [batch, 1, queries, keys]; cannot be combined with a cache or an additive mask.
  /// False excludes a key for a query, in addition to causality and the window. Every query must
  /// have a visible key.
  Value mask = {};
  /// Positions for RoPE, i32 or i64 [batch, seq] or [seq]. By default 0, 1, ..., counted from the
  /// number of tokens in the cache (of each row) if there is one.
  Value position_ids = {};
  /// Enables incremental decoding: x contains new tokens, which attend to all earlier tokens. Their
  /// keys and values are appended to the cache.
  AttentionCache* cache = nullptr;
  /// Optional, with a cache: bool [batch, capacity], false for entries that are padding.
  Value cache_mask = {};
};

/// The parameters of self-attention.
struct SelfAttention {
  Scope scope;
  SelfAttentionOptions options;  // with all defaults resolved
  Linear in;                     // fused projections
  Linear query, key, value;      // separate projections
  Linear out;

  /// Maps x [batch, seq, width] to [batch, seq, width]. With a cache, `updates` receives the new
  /// values of the cache. At run time, exceeding the capacity throws DataError, as does a row that
  /// does not exist or occurs twice; the cache is then unchanged.
  Value operator()(Value x, const AttentionInputs& inputs = {}, Updates* updates = nullptr,
                   SourceLocation loc = SourceLocation::current()) const;
};

/// Declares "<scope>.c_attn" (or "<scope>.{query,key,value}") and "<scope>.c_proj"; the options can
/// change the names. Throws ArgumentError if width is not a multiple of heads (with head_size 0),
/// if heads is not a multiple of kv_heads, or if kv_heads differs from heads without separate
/// projections.
SelfAttention make_self_attention(const Scope& scope, DType dtype, std::int64_t width,
                                  const SelfAttentionOptions& options,
                                  SourceLocation loc = SourceLocation::current());

/// Declares self-attention below `scope` and applies it to x, floating [batch, seq, width].
Value self_attention(const Scope& scope, Value x, const SelfAttentionOptions& options,
                     SourceLocation loc = SourceLocation::current());

/// Returns the ALiBi slopes of the heads: 2^(-8 i / n) for i = 1, ..., n if the number of heads n
/// is a power of two. Otherwise, returns the slopes for the next lower power of two, followed by
/// every other slope for the next higher power of two.
std::vector<double> linear_bias_slopes(std::int64_t heads);

}  // namespace weft
