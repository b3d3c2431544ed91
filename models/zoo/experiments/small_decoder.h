// Small decoders with vectors or ids as input, for experiments on in-context learning.
#pragma once

#include <cstdint>

#include "weft/autodiff/optimizers/step.h"
#include "weft/graph/ir/scope.h"

namespace weft::zoo {

/// The sizes and options of a small decoder.
struct SmallDecoder {
  std::int64_t width = 64, layers = 4, heads = 4;
  std::int64_t context = 64;  // maximum sequence length
  bool feed_forward = true;   // false = attention layers only
  bool rotary = false;        // rotary position embeddings instead of learned positions
};

/// Applies a pre-norm decoder (GPT-2 without its embeddings) to h, f32 [batch, seq, width]. The
/// result has the same type as h. Adds learned position embeddings unless `rotary` is set. Every
/// layer first adds causal attention(norm(h)) and then feed_forward(norm(h)) to h. The last layer
/// is followed by a norm. Parameters:
/// "<scope>.{positions,layers.<i>.{ln_1,attention,ln_2,feed_forward},norm}". Throws ArgumentError
/// if the width is not a multiple of the number of heads.
Value small_decoder(const Scope& scope, Value h, const SmallDecoder& sizes);

/// Applies an embedding of `ids` (i64 [batch, seq]), a small decoder and a linear head, and returns
/// the logits [batch, seq, vocab]. Additional parameters: "<scope>.{embedding,head}".
Value small_language_model(const Scope& scope, Value ids, std::int64_t vocab,
                           const SmallDecoder& sizes);

/// Returns the training step of the experiments: AdamW without weight decay on all parameters of
/// the graph of `loss`, gradients clipped to a norm of 1, and a cosine schedule over `steps` steps
/// that warms up over a twentieth of them and decays to 0.
TrainingStep training_step(Value loss, double learning_rate, std::int64_t steps);

}  // namespace weft::zoo
