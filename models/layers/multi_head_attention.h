// Multi-head attention (Vaswani et al. 2017) with a projection each for queries, keys and values:
// over the sequence itself or over another one (cross attention), with grouped heads.
#pragma once

#include "weft/graph/functions/attention.h"
#include "weft/graph/ir/program.h"
#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

/// Learned relative positions in the scores, a vector E[i - j] per distance: q_i . E (Shaw et al.
/// 2018), or q_i . E + k_j . E (Huang et al. 2020, method 4).
enum class RelativeKeys { none, key, key_query };

/// What attention looks at.
struct KeysValues {
  Value keys, values;
};
/// The same of tokens before, kind cache, each [batch, kv_heads, capacity, head_size].
struct KeysValuesCache {
  Variable keys, values;
};
/// Declares "<scope>.keys" and "<scope>.values".
KeysValuesCache make_keys_values_cache(const Scope& scope, DType dtype, const Dim& batch,
                                       std::int64_t kv_heads, const Dim& capacity,
                                       std::int64_t head_size);

struct MultiHeadAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;   // of keys and values, a divisor of heads; 0 means heads
  std::int64_t head_size = 0;  // 0 means width / heads
  double scale = 0;            // factor on the scores; 0 means 1 / sqrt(head_size)
  LinearOptions in = {};       // of queries, keys and values
  /// Where queries start otherwise than keys and values.
  std::optional<Initializer> query_initializer = {};
  LinearOptions out = {};
  RelativeKeys relative_keys = RelativeKeys::none;
  std::int64_t context = 0;  // longest sequence: sizes the table of relative keys
};

/// The variables: "<scope>.{query,key,value,out}.{weight,bias}" and, with relative keys,
/// "<scope>.distances.weight" [2 * context - 1, head_size].
struct MultiHeadAttention {
  Scope scope;
  Linear query, key, value, out;
  std::int64_t heads, kv_heads, head_size;
  double scale;
  RelativeKeys relative_keys;
  std::int64_t context;
  Variable distances;

  /// x [batch, seq, width] attends to memory [batch, keys, width] (x itself for self-attention) ->
  /// [batch, seq, width]. `options` say what else the scores are made of; their scale is ours.
  /// Relative keys need x as memory; a sequence longer than `context` is a DataError of the run.
  Value operator()(Value x, Value memory, AttentionOptions options = {},
                   SourceLocation loc = SourceLocation::current()) const;

  /// The keys and values of memory, split into heads, each [batch, kv_heads, keys, head_size].
  KeysValues keys_values(Value memory) const;
  /// x attends to keys and values that are there already: cross-attention while decoding.
  Value attend(Value x, const KeysValues& memory, AttentionOptions options = {},
               SourceLocation loc = SourceLocation::current()) const;
  /// x [batch, new, width] are tokens after `position` ones whose keys and values are in the cache:
  /// self-attention while decoding, causal; the new ones are added to `updates`. Row r goes on from
  /// the cache's row parents[r] (i32 or i64 [batch]; undefined: its own), as beams do. A cache that
  /// is full is a DataError of the run; relative keys have no cache. An offset bias must have an
  /// entry for every distance that the capacity allows (AttentionOptions).
  Value decode(Value x, const KeysValuesCache& cache, Value position, Value parents,
               Updates* updates, AttentionOptions options = {},
               SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the variables. Throws ArgumentError where heads do not fit.
MultiHeadAttention make_multi_head_attention(const Scope& scope, DType dtype, std::int64_t width,
                                             const MultiHeadAttentionOptions& options,
                                             SourceLocation loc = SourceLocation::current());

}  // namespace weft
