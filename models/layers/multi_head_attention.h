// Multi-head attention (Vaswani et al. 2017) with a projection each for queries, keys and values:
// over the sequence itself or over another one (cross attention), with grouped heads.
#pragma once

#include "weft/graph/functions/attention.h"
#include "weft/models/layers/linear.h"

namespace weft {

/// Learned relative positions in the scores, a vector E[i - j] per distance: q_i . E (Shaw et al.
/// 2018), or q_i . E + k_j . E (Huang et al. 2020, method 4).
enum class RelativeKeys { none, key, key_query };

struct MultiHeadAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;   // of keys and values, a divisor of heads; 0 means heads
  std::int64_t head_size = 0;  // 0 means width / heads
  double scale = 0;            // factor on the scores; 0 means 1 / sqrt(head_size)
  LinearOptions in = {};       // of queries, keys and values
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
};

/// Declares the variables. Throws ArgumentError where heads do not fit.
MultiHeadAttention make_multi_head_attention(const Scope& scope, DType dtype, std::int64_t width,
                                             const MultiHeadAttentionOptions& options,
                                             SourceLocation loc = SourceLocation::current());

}  // namespace weft
