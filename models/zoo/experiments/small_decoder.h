// Small decoders, over vectors or ids: what the experiments on in-context learning train.
#pragma once

#include <cstdint>

#include "weft/autodiff/optimizers/step.h"
#include "weft/graph/ir/scope.h"

namespace weft::zoo {

struct SmallDecoder {
  std::int64_t width = 64, layers = 4, heads = 4;
  std::int64_t context = 64;  // longest sequence
  bool feed_forward = true;   // false: attention only
  bool rotary = false;        // queries and keys turn with the position, and none is added
};

/// h, f32 [batch, seq, width] -> the same type. Adds learned positions, unless they are rotary;
/// then in every layer h += attention(norm(h)), causal, and h += feed_forward(norm(h)); a norm at
/// the end (GPT-2's block, without its embeddings). Parameters:
/// "<scope>.{positions,layers.<i>.{ln_1,attention,ln_2, feed_forward},norm}". Throws ArgumentError
/// where the width is not a multiple of the heads.
Value small_decoder(const Scope& scope, Value h, const SmallDecoder& sizes);

/// The same between an embedding of ids (i64 [batch, seq]) and a head: logits [batch, seq, vocab].
/// Parameters besides: "<scope>.{embedding,head}".
Value small_language_model(const Scope& scope, Value ids, std::int64_t vocab,
                           const SmallDecoder& sizes);

/// How they are trained: AdamW on all parameters of the loss's graph, without decay, gradients
/// clipped to a norm of 1, a twentieth of `steps` to warm up and a cosine down to 0.
TrainingStep training_step(Value loss, double learning_rate, std::int64_t steps);

}  // namespace weft::zoo
