// Disentangled attention (He et al. 2021, "DeBERTa"): content and relative position have separate
// embeddings, and a score is
//
//   (q_i . k_j  +  q_i . r^k[d(i, j)]  +  k_j . r^q[d(i, j)]) / sqrt(terms * head_size)
//
// where r^k and r^q are projections of one table of relative positions, which all layers share, and
// d(i, j) = clamp(bucket(i - j) + span, 0, 2 span - 1).
#pragma once

#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

struct DisentangledAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t head_size = 0;  // 0 means width / heads
  bool relative = true;        // false: the two terms below affect only the scale
  bool content_to_position = true;
  bool position_to_content = true;
  /// Version 1: one matrix without bias projects q, k and v, one head after another. q and v have
  /// separate biases; the keys of positions have none.
  bool fused = false;
  /// Positions are projected with the matrices for content (version 3).
  bool shared_projections = false;
  std::int64_t max_relative = 512;  // larger distances are clamped to this one
  /// If positive, distances above buckets / 2 share logarithmic buckets up to max_relative.
  std::int64_t buckets = 0;
  LinearOptions in = {}, out = {};

  /// Half the number of rows of the table of relative positions.
  std::int64_t span() const { return buckets > 0 ? buckets : max_relative; }
};

/// The parameters of disentangled attention: "<scope>.{query,key,value,out}.{weight,bias}". If
/// fused, "<scope>.in.weight" [3 * heads * head_size, width] and "<scope>.{query_bias,value_bias}"
/// replace the parameters of query, key and value. Unless shared, "<scope>.position_key" and
/// "<scope>.position_query" project the positions.
struct DisentangledAttention {
  Scope scope;
  DisentangledAttentionOptions options;
  double scale;
  Linear in;  // if fused
  Variable query_bias, value_bias;
  Linear query, key, value;  // if not fused
  Linear position_key, position_query;
  Linear out;

  /// Maps x [batch, seq, width] to [batch, seq, width]. `relative` [2 span, width] is the table of
  /// relative positions (undefined without them). `mask` [batch, seq] may be undefined. Padding is
  /// excluded as a key; the attention output for padding queries is zero.
  Value operator()(Value x, Value relative, Value mask, double dropout = 0, Value dropout_key = {},
                   SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the parameters. Throws ArgumentError if width is not a multiple of heads (with
/// head_size 0).
DisentangledAttention make_disentangled_attention(const Scope& scope, DType dtype,
                                                  std::int64_t width,
                                                  DisentangledAttentionOptions options,
                                                  SourceLocation loc = SourceLocation::current());

/// Returns the index d(i, j) for all pairs of positions in a sequence, i64 [length, length].
Value relative_position_index(Graph& graph, const Dim& length, std::int64_t buckets,
                              std::int64_t max_relative);

}  // namespace weft
