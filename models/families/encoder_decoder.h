// Encoder-decoders: the original Transformer (Vaswani et al. 2017), T5 (Raffel et al. 2020) and its
// variants T5 1.1, mT5, UMT5, UL2 and Switch Transformers, BART (Lewis et al. 2020), mBART (Liu et
// al. 2020), PEGASUS (Zhang et al. 2020), Marian (Junczys-Dowmunt et al. 2018), M2M100 (Fan et al.
// 2020), NLLB (NLLB Team 2022), Blenderbot (Roller et al. 2020), LongT5 (Guo et al. 2022),
// PEGASUS-X (Phang et al. 2023), T5Gemma (Zhang et al. 2025) and the speech recogniser Whisper
// (Radford et al. 2022). One class builds all of them; EncoderDecoderConfig selects the
// differences. With the norm after each block (left) or before it (right), the architecture is
//
//   h = tokens[ids] (* sqrt(width)) + positions
//   encoder layer:  h = attention_norm(h + attention(h, h))      h += attention(attention_norm(h))
//                   h = feed_forward_norm(h + feed_forward(h))   ...
//   decoder layer:  h = attention_norm(h + attention(h, h up to this token))
//                   h = cross_attention_norm(h + cross_attention(h, encoder's h))
//                   h = feed_forward_norm(h + feed_forward(h))
//   logits = h tokens^T
// With encoder_block, g = encoder.global_tokens is processed like h, with global_norm in place of
// attention_norm. With sandwich norms, the outputs of blocks pass through *_post_norm.
//
// Parameters below the scope; matrices are [out, in]:
//   tokens.weight [vocab, width] with aliases {encoder,decoder}.tokens.weight, or two such tables
//   {encoder,decoder}.positions.weight [position_offset + context, width]
//   with mel_bins: encoder.conv1.weight [width, mel_bins, 3], encoder.conv2.weight [width, width,
//   3], encoder.conv<i>.bias [width], encoder.positions.weight [source_context, width], a buffer,
//   and decoder.tokens.weight instead of tokens.weight
//   {encoder,decoder}.relative_bias.weight [relative_buckets, heads], or one such table per layer,
//                                           {encoder,decoder}.layers.<i>.relative_bias.weight
//   {encoder,decoder}.{embedding_norm,norm}.{weight,bias}
//   {encoder,decoder}.layers.<i>.{attention,cross_attention}.{query,key,value,out}.{weight,bias}
//   {encoder,decoder}.layers.<i>.{attention_norm,cross_attention_norm,feed_forward_norm}
//                                                                               .{weight,bias}
//   {encoder,decoder}.layers.<i>.{attention,cross_attention,feed_forward}_post_norm.{weight,bias}
//   {encoder,decoder}.layers.<i>.feed_forward.{up,gate,down}.{weight,bias}, or with experts
//   {encoder,decoder}.layers.<i>.feed_forward.router.{weight,bias} [experts, width]
//   {encoder,decoder}.layers.<i>.feed_forward.experts.{up,down} [experts, out, in]
//   encoder.global_tokens.weight [global_tokens, width]
//   encoder.layers.<i>.global_norm.{weight,bias}
//   head.weight [vocab, width], an alias of the decoder's tokens if tied
//   head.bias [1, vocab], a buffer
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "weft/graph/functions/loss.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/layers/attention/multi_head_attention.h"
#include "weft/models/layers/attention/relative_bias.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/experts/mixture_of_experts.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// The stacks to build: both, or only the encoder.
enum class Stacks { encoder, both };

/// The routing of one layer with experts.
struct RoutedLayer {
  std::int64_t layer = 0;
  Value logits;   // of the router, [batch, seq, experts]
  Value experts;  // i64 [batch, seq]: the expert of each token; 0 beyond the capacity
};
/// Outputs of one stack.
struct StackOutputs {
  Value last_hidden_state;  // [batch, seq, width]
  /// layers + 1 values [batch, seq, width]: the embeddings, then the output of every layer. The
  /// last one is taken after the final norm.
  std::vector<Value> hidden;
  std::vector<RoutedLayer> routed = {};  // the layers with experts
};

/// Router losses of one stack, scalars.
struct RouterLosses {
  /// Load-balancing loss: the mean over the texts of E sum_e f_e p_e, where f_e is the fraction of
  /// the text's tokens in all layers that are routed to expert e, and p_e is the mean probability
  /// of e (Fedus et al. 2021, eq. 4). As in Hugging Face transformers, padding counts as tokens,
  /// and tokens beyond the capacity count for expert 0.
  Value balancing;
  Value z;  // the mean over the tokens and layers of logsumexp(logits)^2 (Zoph et al. 2022, eq. 5)
};
/// Returns the losses of a stack. Throws ArgumentError if it has no layer with experts.
RouterLosses router_losses(const StackOutputs& outputs,
                           SourceLocation loc = SourceLocation::current());

/// Updates and logits of incremental decoding with caches. One program applies `prompt` once;
/// another program applies `step` for every token.
struct EncoderDecoderDecoding {
  Updates prompt;  // cross-attention keys and values, computed from the prompts' ids
  Updates step;    // adds the new tokens to the caches
  Value logits;    // [rows, vocab], for the last of the new tokens
};
/// Inputs of both programs.
struct DecodingInputs {
  Value ids;                  // prompt: i32 or i64 [batch, source], or spectrograms as in encode()
  Value attention_mask = {};  // prompt: [batch, source], 1 = token; may be undefined
  Value prompt_of_row = {};   // prompt: i64 [rows], the index of each row's prompt
  Value tokens = {};          // step: i32 or i64 [rows, new]
  /// step: number of tokens in the caches, i64 [rows], or a scalar if it is the same in every row.
  Value position = {};
  /// step: i64 [rows]. Row r continues from row parents[r] of the caches, which must have the same
  /// prompt; if undefined, every row continues from itself.
  Value parents = {};
  Dim capacity = {};  // maximum number of tokens of the decoder, a symbol
};

/// An encoder-decoder: declares its parameters and applies them. The mode of its Scope determines
/// whether dropout, layer dropout and label smoothing are applied; incremental decoding is always
/// evaluation. A function throws GraphError if one of its rates is not 0 and the Scope has no mode.
class EncoderDecoder {
 public:
  /// Declares all parameters below `scope`. Throws ArgumentError if the config is invalid.
  EncoderDecoder(const Scope& scope, const EncoderDecoderConfig& config,
                 Stacks stacks = Stacks::both, SourceLocation loc = SourceLocation::current());

  const EncoderDecoderConfig& config() const { return config_; }
  Graph& graph() const { return scope_.graph(); }

  /// Returns this model with its Scope in the given mode, for example
  /// `net.training().encode(ids, mask)`. The parameters are shared.
  EncoderDecoder training() const { return in(Mode::training); }
  EncoderDecoder evaluation() const { return in(Mode::evaluation); }
  EncoderDecoder in(Mode mode) const;

  /// Applies the encoder. ids: i32 or i64 [batch, seq]. mask (may be undefined): any dtype, [batch,
  /// seq], 1 = token, 0 = padding. In training mode, applies dropout at the rates of the config,
  /// with random numbers from the key "dropout". With EncoderDecoderConfig::mel_bins, `ids` are
  /// spectrograms f32 [batch, mel_bins, 2 * source_context] instead, and there is no mask; other
  /// sizes throw ShapeError.
  StackOutputs encode(Value ids, Value mask, SourceLocation loc = SourceLocation::current()) const;
  /// Applies the decoder to ids [batch, target]. `memory` [batch, seq, width] is the encoder's last
  /// hidden state and `memory_mask` the encoder's mask; `mask` [batch, target] covers the decoder's
  /// own tokens. Both masks may be undefined. Token i attends to tokens up to i.
  StackOutputs decode(Value ids, Value mask, Value memory, Value memory_mask,
                      SourceLocation loc = SourceLocation::current()) const;
  /// Projects the decoder's last_hidden_state [..., width] to logits [..., vocab].
  Value logits(Value h, SourceLocation loc = SourceLocation::current()) const;
  /// Returns the decoder's input for training: the labels shifted right by one position, with the
  /// start token at the beginning and -100 replaced by padding.
  Value shift_right(Value labels, SourceLocation loc = SourceLocation::current()) const;
  /// Returns the mean cross-entropy of logits [batch, target, vocab] against labels [batch,
  /// target]. Labels of -100 are ignored. In training mode, uses the config's label smoothing.
  Value loss(Value logits, Value labels, Reduction reduction = Reduction::mean,
             SourceLocation loc = SourceLocation::current()) const;
  /// In training mode, adds the router losses of both stacks to a loss, times balancing_weight and
  /// router_z_weight. With Reduction::shard_mean, they are means over the shards. Otherwise, and
  /// without experts, returns `loss`.
  Value with_router_losses(Value loss, const StackOutputs& encoded, const StackOutputs& decoded,
                           Reduction reduction = Reduction::mean,
                           SourceLocation loc = SourceLocation::current()) const;

  /// Declares caches below "<scope>.cache" and builds incremental decoding. May be called once per
  /// model.
  EncoderDecoderDecoding decoding(const DecodingInputs& inputs,
                                  SourceLocation loc = SourceLocation::current()) const;

 private:
  struct Layer {
    MultiHeadAttention attention;
    Norm attention_norm;
    std::optional<MultiHeadAttention> cross_attention = {};
    std::optional<Norm> cross_attention_norm = {};
    std::variant<FeedForward, MixtureOfExperts> feed_forward;
    Norm feed_forward_norm;
    std::optional<Norm> attention_post_norm = {}, cross_attention_post_norm = {};
    std::optional<Norm> feed_forward_post_norm = {};
    std::optional<Norm> global_norm = {};
    std::int64_t window = 0;
    std::optional<RelativeBias> relative_bias = {};  // of this layer
  };
  struct Stack {
    Scope scope;
    Seq2SeqStack options;
    Embedding tokens;
    Variable positions = {};
    struct Conv {
      Variable weight, bias;
    };
    std::vector<Conv> convolutions = {};             // of spectrograms
    std::optional<RelativeBias> relative_bias = {};  // of all layers
    std::optional<Norm> embedding_norm = {};
    std::vector<Layer> layers = {};
    std::optional<Norm> norm = {};
    double layer_dropout;
    Variable global_tokens = {};
  };
  /// One block with its residual connection and norms; `block` maps h to the value added to h.
  template <class Block>
  Value residual(const Norm& norm, const std::optional<Norm>& post_norm, Value h,
                 Block&& block) const;
  Embedding make_tokens(const Scope& scope, std::int64_t vocab, std::int64_t width) const;
  Stack make_stack(const Scope& scope, const Embedding& tokens, bool decoder) const;
  Layer make_layer(const Scope& scope, bool decoder, std::int64_t index) const;
  MixtureOfExperts make_experts_at(const Scope& scope, std::int64_t width,
                                   std::int64_t inner) const;
  RelativeBias make_relative_bias_at(const Scope& scope, std::int64_t width, bool decoder) const;
  Norm make_norm_at(const Scope& scope, std::int64_t width) const;
  LinearOptions linear(std::int64_t inputs, bool bias) const;
  /// Returns the sinusoidal encodings [..., width] of ids at the given consecutive positions.
  Value sinusoids(Value ids, Value positions, std::int64_t width, DType dtype) const;
  Value embed(const Stack& stack, Value ids, Value position) const;
  Value embed_spectrogram(Value features, Value mask, SourceLocation loc) const;
  /// Appends the routing to `routed` if the layer has experts and `routed` is not null.
  Value feed_forward(const Layer& layer, Value h, std::vector<RoutedLayer>* routed = nullptr) const;
  AttentionOptions attention_options() const;
  StackOutputs run(const Stack& stack, Value embedded, const AttentionOptions& self, Value memory,
                   const AttentionOptions& cross) const;
  /// The encoder with block attention.
  StackOutputs run_blocks(const Stack& stack, Value embedded, Value mask) const;
  StackOutputs finish(const Stack& stack, StackOutputs outputs, Value h) const;
  /// Additive causal mask for rows with padding: 0 for visible keys, very negative for later tokens
  /// and padding.
  Value decoder_mask(Value mask, DType dtype) const;

  Scope scope_;
  EncoderDecoderConfig config_;
  std::optional<Stack> encoder_, decoder_;
  Variable head_, head_bias_;
};

/// Returns the encoder's positions in a new model with mel_bins, f32 [context, width]: feature j <
/// width/2 of position p is sin(p 10000^(-j / (width/2 - 1))), and the second half contains the
/// cosines. New models must set the buffer "encoder.positions.weight", which a Session fills with
/// zeros.
Tensor spectrogram_positions(std::int64_t context, std::int64_t width);

}  // namespace weft
