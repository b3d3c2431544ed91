// Encoder-decoders: the original Transformer (Vaswani et al. 2017), T5 (Raffel et al. 2020) with
// its versions 1.1, mT5 and UL2, BART (Lewis et al. 2020), mBART (Liu et al. 2020), PEGASUS (Zhang
// et al. 2020) and Marian (Junczys-Dowmunt et al. 2018) are one builder; what differs is in the
// config. With norm after (before) each block, the paper's figure reads
//
//   h = tokens[ids] (* sqrt(width)) + positions
//   encoder layer:  h = attention_norm(h + attention(h, h))      h += attention(attention_norm(h))
//                   h = feed_forward_norm(h + feed_forward(h))   ...
//   decoder layer:  h = attention_norm(h + attention(h, h up to here))
//                   h = cross_attention_norm(h + cross_attention(h, encoder's h))
//                   h = feed_forward_norm(h + feed_forward(h))
//   logits = h tokens^T
//
// Parameters, below the scope; matrices are [out, in]:
//   tokens.weight [vocab, width], alias {encoder,decoder}.tokens.weight; or two tables of that name
//   {encoder,decoder}.positions.weight [position_offset + context, width]
//   {encoder,decoder}.relative_bias.weight [relative_buckets, heads]
//   {encoder,decoder}.{embedding_norm,norm}.{weight,bias}
//   {encoder,decoder}.layers.<i>.{attention,cross_attention}.{query,key,value,out}.{weight,bias}
//   {encoder,decoder}.layers.<i>.{attention_norm,cross_attention_norm,feed_forward_norm}
//                                                                               .{weight,bias}
//   {encoder,decoder}.layers.<i>.feed_forward.{up,gate,down}.{weight,bias}
//   head.weight [vocab, width], an alias of the decoder's tokens if tied
//   head.bias [1, vocab], a buffer
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/functions/loss.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/multi_head_attention.h"
#include "weft/models/layers/norm.h"
#include "weft/models/layers/relative_bias.h"

namespace WEFT_API weft {

/// Whether there is a decoder: encoders alone are useful, too.
enum class Stacks { encoder, both };

/// What one stack gives.
struct StackOutputs {
  Value last_hidden_state;  // [batch, seq, width]
  /// layers + 1 values: the embeddings and what every layer gives, the last after the last norm.
  std::vector<Value> hidden;
};

/// What decoding over caches needs: one program runs `prompt` once, another `step` for every token.
struct EncoderDecoderDecoding {
  Updates prompt;  // keys and values of the encoder's output, from the ids of prompts
  Updates step;    // caches with the new tokens
  Value logits;    // [rows, vocab] of the last of the new tokens
};
/// Inputs of both.
struct DecodingInputs {
  Value ids;                  // prompt: i32 or i64 [batch, source]
  Value attention_mask = {};  // prompt: [batch, source], 1 = token; may be undefined
  Value prompt_of_row = {};   // prompt: i64 [rows], row r of decoding belongs to this prompt
  Value tokens = {};          // step: i32 or i64 [rows, new]
  Value position = {};        // step: i64 scalar, tokens that are in the caches already
  /// step: i64 [rows], the row that row r goes on from, one of the same prompt; undefined: its own.
  Value parents = {};
  Dim capacity = {};  // most tokens that the decoder can hold, a symbol
};

/// The parameters of an encoder-decoder.
class EncoderDecoder {
 public:
  /// Declares all parameters below `scope`. Throws ArgumentError where the config makes no sense.
  EncoderDecoder(const Scope& scope, const EncoderDecoderConfig& config,
                 Stacks stacks = Stacks::both, SourceLocation loc = SourceLocation::current());

  const EncoderDecoderConfig& config() const { return config_; }
  Graph& graph() const { return scope_.graph(); }

  /// ids: i32 or i64 [batch, seq]; mask, which may be undefined: any dtype, 1 = token, 0 = padding.
  /// `training` applies the config's dropouts, drawn from the key "dropout".
  StackOutputs encode(Value ids, Value mask, bool training = false,
                      SourceLocation loc = SourceLocation::current()) const;
  /// ids [batch, target]; `memory` [batch, seq, width] is the encoder's last hidden state and
  /// `memory_mask` its mask; `mask` [batch, target] is of the decoder's own tokens. Both masks may
  /// be undefined. Token i sees tokens up to i.
  StackOutputs decode(Value ids, Value mask, Value memory, Value memory_mask, bool training = false,
                      SourceLocation loc = SourceLocation::current()) const;
  /// last_hidden_state [..., width] of the decoder -> [..., vocab].
  Value logits(Value h, SourceLocation loc = SourceLocation::current()) const;
  /// Labels moved one to the right, behind what the decoder starts from; -100 becomes padding: the
  /// decoder's input while training.
  Value shift_right(Value labels, SourceLocation loc = SourceLocation::current()) const;
  /// Mean cross-entropy of logits [batch, target, vocab] over labels [batch, target], -100 not
  /// counted; with the config's label smoothing while `training`.
  Value loss(Value logits, Value labels, bool training = false,
             Reduction reduction = Reduction::mean,
             SourceLocation loc = SourceLocation::current()) const;

  /// Declares caches below "<scope>.cache" and builds what decoding runs; once per model.
  EncoderDecoderDecoding decoding(const DecodingInputs& inputs,
                                  SourceLocation loc = SourceLocation::current()) const;

 private:
  struct Layer {
    MultiHeadAttention attention;
    Norm attention_norm;
    std::optional<MultiHeadAttention> cross_attention;
    std::optional<Norm> cross_attention_norm;
    FeedForward feed_forward;
    Norm feed_forward_norm;
  };
  struct Stack {
    Scope scope;
    Embedding tokens;
    Variable positions;
    std::optional<RelativeBias> relative_bias;
    std::optional<Norm> embedding_norm;
    std::vector<Layer> layers;
    std::optional<Norm> norm;
    double layer_dropout;
  };
  /// One block with its residual connection and norm; `block` maps h to what is added.
  template <class Block>
  Value residual(const Norm& norm, Value h, bool training, Block&& block) const;
  Embedding make_tokens(const Scope& scope, std::int64_t vocab) const;
  Stack make_stack(const Scope& scope, const Embedding& tokens, bool decoder) const;
  Layer make_layer(const Scope& scope, bool decoder) const;
  Norm make_norm_at(const Scope& scope) const;
  LinearOptions linear(std::int64_t inputs) const;
  Value embed(const Stack& stack, Value ids, Value position, bool training) const;
  Value feed_forward(const Layer& layer, Value h, bool training) const;
  AttentionOptions attention_options(bool training) const;
  StackOutputs run(const Stack& stack, Value embedded, const AttentionOptions& self, Value memory,
                   const AttentionOptions& cross, bool training) const;
  /// 0 or very negative for keys a decoder's token must not see, where there is padding.
  Value decoder_mask(Value mask, DType dtype) const;

  Scope scope_;
  EncoderDecoderConfig config_;
  std::optional<Stack> encoder_, decoder_;
  Variable head_, head_bias_;
};

}  // namespace weft
