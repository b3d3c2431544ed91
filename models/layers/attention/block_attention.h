// Block-local attention with global tokens (Phang et al. 2023, "PEGASUS-X"). Internal to models.
#pragma once

#include <cstdint>

#include "weft/models/layers/attention/multi_head_attention.h"

namespace weft {

struct BlockAttentionOptions {
  std::int64_t block = 512;  // tokens per block
  /// Number of tokens by which the blocks are shifted: the first block has block - shift tokens.
  std::int64_t shift = 0;
  /// Optional, any dtype, [batch, seq]: 1 for tokens, 0 for padding, to which nothing attends.
  Value mask = {};
  double dropout = 0;  // on the attention probabilities
  Value dropout_key = {};
};
/// The outputs of a layer for tokens, [batch, seq, width], and global tokens, [batch, global,
/// width].
struct BlockAttentionOutputs {
  Value tokens, globals;
};

/// Applies self-attention to x [batch, seq, width] and to global tokens [batch, global, width],
/// which share the projections of `layer`. A token attends to the tokens of its block and to the
/// global tokens; a global token attends to everything. `seq` need not be a multiple of the block.
/// Memory is O(seq + block), time O(seq (block + global)).
BlockAttentionOutputs block_attention(const MultiHeadAttention& layer, Value x, Value globals,
                                      const BlockAttentionOptions& options,
                                      SourceLocation loc = SourceLocation::current());

}  // namespace weft
