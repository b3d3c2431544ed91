// Multi-head attention (Vaswani et al. 2017) with separate projections for queries, keys and
// values: self-attention or cross-attention, with grouped heads.
#pragma once

#include "weft/graph/functions/attention.h"
#include "weft/graph/ir/program.h"
#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

/// Learned relative positions in the scores, with an embedding E[i - j] per distance. `key` adds
/// q_i . E (Shaw et al. 2018), `key_query` adds q_i . E + k_j . E (Huang et al. 2020, method 4).
enum class RelativeKeys { none, key, key_query };

/// Keys and values, split into heads, each [batch, kv_heads, keys, head_size].
struct KeyValues {
  Value keys, values;
};
/// Keys and values of earlier tokens, of kind cache, each [batch, kv_heads, capacity, head_size].
struct KeyValueCache {
  Variable keys, values;
};
/// Declares "<scope>.keys" and "<scope>.values".
KeyValueCache make_key_value_cache(const Scope& scope, DType dtype, const Dim& batch,
                                   std::int64_t kv_heads, const Dim& capacity,
                                   std::int64_t head_size);

struct MultiHeadAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;   // heads of keys and values, must divide heads; 0 means heads
  std::int64_t head_size = 0;  // 0 means width / heads
  double scale = 0;            // factor for the scores; 0 means 1 / sqrt(head_size)
  LinearOptions in = {};       // projections of queries, keys and values
  /// Initializer of the query projection, if it differs from the initializer for keys and values.
  std::optional<Initializer> query_initializer = {};
  bool key_bias = true;  // with in.bias: keys have biases, too
  LinearOptions out = {};
  RelativeKeys relative_keys = RelativeKeys::none;
  std::int64_t context = 0;       // maximum sequence length, which sizes the table of relative keys
  std::int64_t memory_width = 0;  // width of the memory; 0 means the width of x
  /// Self-attention only: rotate all features of queries and keys by the positions 0, 1, ...
  /// (RoPE).
  bool rotary = false;
  double rotary_base = 10000;
};

/// The parameters of multi-head attention: "<scope>.{query,key,value,out}.{weight,bias}" and, with
/// relative keys, "<scope>.distances.weight" [2 * context - 1, head_size].
struct MultiHeadAttention {
  Scope scope;
  Linear query, key, value, out;
  std::int64_t heads, kv_heads, head_size;
  double scale;
  RelativeKeys relative_keys;
  std::int64_t context;
  Variable distances;
  bool rotary = false;
  double rotary_base = 10000;

  /// x [batch, seq, width] attends to memory [batch, keys, width] (x itself for self-attention) ->
  /// [batch, seq, width]. With rotary positions, memory must be x. `options` can add biases, masks
  /// and dropout; the layer sets its own scale. With relative keys, memory must be x, and a
  /// sequence longer than `context` throws DataError at run time.
  Value operator()(Value x, Value memory, AttentionOptions options = {},
                   SourceLocation loc = SourceLocation::current()) const;

  /// Projects memory to keys and values, split into heads, each [batch, kv_heads, keys, head_size].
  KeyValues key_values(Value memory) const;
  /// Computes attention from x to precomputed keys and values, for cross-attention during decoding.
  Value attend(Value x, const KeyValues& memory, AttentionOptions options = {},
               SourceLocation loc = SourceLocation::current()) const;
  /// Causal self-attention during decoding. x [batch, new, width] contains new tokens that follow
  /// `position` earlier tokens (i64 scalar or [batch]). The cache contains the keys and values of
  /// the earlier tokens, and `updates` receives the extended cache. Row r continues from row
  /// parents[r] of the cache (i32 or i64 [batch]), as in beam search; if undefined, every row
  /// continues from itself. With options.kv_rows, row r instead appends to row kv_rows[r] of a
  /// cache with any number of rows and attends to it in place; `parents` must then be undefined
  /// (ArgumentError). Exceeding the capacity throws DataError at run time. Relative keys are not
  /// supported. An offset bias must have an entry for every possible distance within the capacity
  /// (AttentionOptions).
  Value decode(Value x, const KeyValueCache& cache, Value position, Value parents, Updates* updates,
               AttentionOptions options = {}, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Throws ArgumentError if width is not a multiple of heads (with
/// head_size 0), if heads is not a multiple of kv_heads, if relative keys lack a context or are
/// combined with grouped heads, or if rotary positions lack an even head size.
MultiHeadAttention make_multi_head_attention(const Scope& scope, DType dtype, std::int64_t width,
                                             const MultiHeadAttentionOptions& options,
                                             SourceLocation loc = SourceLocation::current());

}  // namespace weft
