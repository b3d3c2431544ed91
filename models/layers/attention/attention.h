// Multi-head causal self-attention (Vaswani et al. 2017) with the extensions of decoder models:
// grouped heads, latent projections, rotary and linear-bias positions, a local window, norms of
// queries and keys, soft caps, sinks, key/value caches.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/models/fields/choice.h"
#include "weft/models/layers/attention/latent_attention.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// How queries, keys and values are projected from x.
enum class QkvProjection : std::uint8_t {
  fused,  // one matrix: all queries, then all keys, then all values (GPT-2, Phi-3)
  /// One matrix: for each key head, the queries of its group, its key and its value (GPT-NeoX,
  /// Falcon).
  fused_by_head,
  separate,  // one matrix for each (LLaMA)
  /// One matrix: for each quarter of the heads, its queries, then its values, then its keys
  /// (CodeGen).
  fused_by_quarter,
};
/// The names equal the enumerators.
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

/// Growth of the queries with the position p, which sharpens attention in long texts (Nakanishi
/// 2025, "Scalable-Softmax"; Llama 4): queries are multiplied by 1 + rate * ln(1 + floor((p +
/// offset) / context)).
struct QueryGrowth {
  double rate = 0;  // 0 = no growth
  std::int64_t context = 8192, offset = 0;
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
  /// Divide the text into chunks of `window` tokens; a query attends to its own chunk only (Llama
  /// 4).
  bool window_chunks = false;
  /// Factor for the scores; 0 means 1 / sqrt(head_size).
  double scale = 0;
  /// Replaces scores x by soft_cap * tanh(x / soft_cap), before masks and biases (Gemma 2); 0 means
  /// no cap.
  double soft_cap = 0;
  /// Learned scores "<scope>.sinks" [heads] of one more key per head with value 0 (GPT-OSS).
  bool sinks = false;
  QkvProjection projection = QkvProjection::fused;
  /// Selects multi-head latent attention instead of `projection`.
  std::optional<LatentAttentionOptions> latent = {};
  /// Clamps queries, keys and values to +-clip, after the norms (DBRX, OLMo); 0 means no limit.
  double clip = 0;
  /// Norms of the queries and keys of each head, with weights [head_size] or [heads, head_size],
  /// before the rotation.
  std::optional<Norm> query_norm = {}, key_norm = {};
  /// Apply these norms to all features of all heads at once instead, with weights [heads *
  /// head_size] (OLMo 2), or after the rotation (Llama 4).
  bool norm_all_heads = false, norm_after_rotary = false;
  /// Features per head that are rotated by the position (RoPE): the first ones, or with latent
  /// attention the last ones; 0 = none.
  std::int64_t rotary = 0;
  double rotary_base = 10000;
  RotaryScaling rotary_scaling = {};
  bool rotary_adjacent = false;  // pairs (2j, 2j + 1) instead of (j, j + rotary / 2)
  bool rotary_values = false;    // also rotate the values (RoFormer); not with latent attention
  QueryGrowth query_growth = {};
  /// ALiBi (Press et al. 2022): scores decrease linearly with the distance, by the slopes
  /// linear_bias_scale * linear_bias_slopes(heads, linear_bias_max).
  bool linear_bias = false;
  double linear_bias_max = 8, linear_bias_scale = 1;
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
  /// Variables of kind cache, [rows, kv_heads, capacity, head_size]; the values of a latent
  /// attention have its value_size.
  Variable keys = {}, values = {};
  /// Number of tokens in the cache, i64: [batch], or a scalar if it is the same in every row.
  Value position = {};
  /// Optional, i32 or i64 [batch]: the row of the cache for each row of the batch, without
  /// duplicates. By default, row b uses row b, and the cache has `batch` rows. If it is [batch,
  /// columns], the cache consists of blocks of `capacity` tokens: token t of row b is entry t mod
  /// capacity of row rows[b, t / capacity] (AttentionOptions::kv_rows).
  Value rows = {};
  /// Optional, i64 [batch]: the number of tokens including the new ones that are not padding; by
  /// default position + the number of new tokens.
  Value lengths = {};
  /// Optional, i64 scalar or [batch]: the length of the text, which only dynamic and longrope
  /// rotary scaling use; by default position + the number of new tokens.
  Value text_length = {};
  /// The largest length of a text, if keys and values are ring buffers of the newest tokens: token
  /// t is entry t mod capacity. A layer with a window (or chunks) then needs a capacity of window -
  /// 1 + the number of new tokens, unless all tokens fit; otherwise, a run throws DataError. 0: no
  /// ring buffers, the capacity is the largest length.
  Dim ring = {};
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
  /// Optional, i32 or i64 [texts + 1]: x is [1, total, width] and contains texts one after the
  /// other without padding (AttentionOptions::offsets). Cannot be combined with a cache or an
  /// additive mask. Dynamic and longrope rotary scaling are not supported. Pass position_ids, which
  /// count from the beginning of each text, with rotary positions.
  Value offsets = {};
  /// Positions, i64 [batch, keys], from which chunks are counted (see window_chunks), for texts
  /// that do not begin at key 0. By default the index of the key.
  Value chunk_positions = {};
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
  std::optional<LatentProjection> latent = {};
  Linear out;
  Variable sinks = {};

  /// Maps x [batch, seq, width] to [batch, seq, width]. With a cache, `updates` receives the new
  /// values of the cache. At run time, exceeding the capacity throws DataError, as does a row that
  /// does not exist or occurs twice; the cache is then unchanged.
  Value operator()(Value x, const AttentionInputs& inputs = {}, Updates* updates = nullptr,
                   SourceLocation loc = SourceLocation::current()) const;
};

/// Declares "<scope>.c_attn" (or "<scope>.{query,key,value}", or the layers of LatentProjection),
/// "<scope>.c_proj" and, with sinks, "<scope>.sinks"; the options can change the names. Throws
/// ArgumentError if width is not a multiple of heads (with head_size 0), if heads is not a multiple
/// of kv_heads, if the heads do not fit the projection, or if a chunk has no size.
SelfAttention make_self_attention(const Scope& scope, DType dtype, std::int64_t width,
                                  const SelfAttentionOptions& options,
                                  SourceLocation loc = SourceLocation::current());

/// Declares self-attention below `scope` and applies it to x, floating [batch, seq, width].
Value self_attention(const Scope& scope, Value x, const SelfAttentionOptions& options,
                     SourceLocation loc = SourceLocation::current());

/// Returns the ALiBi slopes of the heads: 2^(-max i / n) for i = 1, ..., n if the number of heads n
/// is a power of two. Otherwise, returns the slopes for the next lower power of two, followed by
/// every other slope for the next higher power of two.
std::vector<double> linear_bias_slopes(std::int64_t heads, double max = 8);

}  // namespace weft
