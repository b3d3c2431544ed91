// Encoders of the BERT family: BERT (Devlin et al. 2019), RoBERTa (Liu et al. 2019), DistilBERT
// (Sanh et al. 2019), ALBERT (Lan et al. 2020), ELECTRA (Clark et al. 2020), DeBERTa versions 1 to
// 3 (He et al. 2021), MPNet (Song et al. 2020), RoFormer (Su et al. 2021), Nomic Embed (Nussbaum et
// al. 2024), ModernBERT (Warner et al. 2024) and EuroBERT (Boizard et al. 2025). One class builds
// all of them; EncoderConfig selects the differences.
//
//   h = norm(tokens[ids] + positions[p] + token_types[t] + task_types[k])
//                                                                (projected if the widths differ)
//   for every layer:  h = attention_norm(h + attention(h))
//                     h = feed_forward_norm(h + down(activation(up(h))))
// With norm_first:
//   h = tokens[ids] + positions[p] + token_types[t] + task_types[k]    (norm if embedding_norm)
//   for every layer:  h = h + attention(attention_norm(h))
//                     h = h + down(activation(up(feed_forward_norm(h))))
//   h = final_norm(h)                                                  (if final_norm)
//
// Parameters below the scope:
//   embeddings.{tokens,positions,token_types,task_types}.weight [rows, embedding width]
//   embeddings.norm.{weight,bias}, embeddings.projection.{weight,bias}
//   layers.<i>.attention.{query,key,value,out}.{weight,bias}   (see multi_head_attention.h and
//                                                               disentangled_attention.h for more)
//   layers.<i>.attention.global_{query,key,value}.{weight,bias}  (with global attention)
//   layers.<i>.{attention_norm,feed_forward_norm}.{weight,bias}
//   layers.<i>.feed_forward.{up,down}.{weight,bias}, feed_forward.gate.{weight,bias} if gated
// With fused_qkv and fused_gate, layers.<i>.attention.qkv and layers.<i>.feed_forward.gate_up
// replace the matrices that they contain.
//   final_norm.{weight,bias}
//   relative_bias.weight [relative_buckets, heads]
//   relative_positions.weight [2 span, width], relative_positions.norm.{weight,bias}
//   conv.{weight,bias}, conv.norm.{weight,bias}
// Matrices are [out, in]. Layers that share weights (ALBERT) share one <i>.
#pragma once

#include <optional>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/attention/disentangled_attention.h"
#include "weft/models/layers/attention/longformer_attention.h"
#include "weft/models/layers/attention/multi_head_attention.h"
#include "weft/models/layers/attention/relative_bias.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// Inputs of an encoder.
struct EncoderInputs {
  /// i32 or i64 [batch, seq].
  Value ids;
  /// Optional, any dtype, [batch, seq]: 1 for tokens, 0 for padding. Every row must contain a
  /// token.
  Value attention_mask = {};
  /// Optional, i32 or i64 [batch, seq]; all 0 if absent.
  Value token_type_ids = {};
  /// Optional, i32 or i64 [batch, seq]. By default, positions are numbered as
  /// EncoderConfig::positions_skip_padding specifies.
  Value position_ids = {};
  /// Optional, i32 or i64 [batch, seq]; all 0 if absent. Used if EncoderConfig::task_types > 0.
  Value task_type_ids = {};
  /// Optional, any dtype, [batch, seq]: tokens with nonzero entries have global attention. Used if
  /// EncoderConfig::global_attention is set; no token has it by default.
  Value global_attention_mask = {};
  /// Optional, i32 or i64 [texts + 1]: the batch is a single row that contains texts one after the
  /// other without padding, and text t is the range [offsets[t], offsets[t + 1]) (`cu_seqlens` of
  /// FlashAttention). The hidden states equal those of the padded texts within rounding.
  /// attention_mask must be absent. Positions are numbered from the beginning of each text.
  Value offsets = {};
  /// Optional, i32 or i64 [tokens], with attention_mask: the indices of all tokens in the flattened
  /// rows [batch * seq], ascending, as nonzero(flatten(attention_mask)) gives them. The layers then
  /// compute no padding: they process the tokens as with `offsets`, and the hidden states are
  /// padded at the end, with zeros. The tokens of a row must be consecutive. Other indices give
  /// wrong results or a DataError at run time.
  Value token_places = {};
};

/// Returns true if encoders with this config accept EncoderInputs::offsets and token_places.
/// Relative keys, disentangled attention, global attention, convolutions, and rotary scaling that
/// depends on the length of the text do not support it.
bool supports_offsets(const EncoderConfig& config);

/// Outputs of an encoder.
struct EncoderOutputs {
  /// [batch, seq, width].
  Value last_hidden_state;
  /// layers + 1 values [batch, seq, width]: the embeddings, then the output of every layer. The
  /// last one is taken before the final norm if there is one.
  std::vector<Value> hidden;
};

/// An encoder: declares its parameters and applies them. The mode of its Scope determines whether
/// dropout is applied.
class Encoder {
 public:
  /// Declares all parameters below `scope`. Throws ArgumentError if the config is invalid.
  Encoder(const Scope& scope, const EncoderConfig& config,
          SourceLocation loc = SourceLocation::current());
  /// As above, but reuses the token, position and token type tables of `shared` and their norm, as
  /// in ELECTRA's generator. The projection is the only part of the embeddings that this
  /// constructor declares. Throws ArgumentError if the configs describe different embeddings.
  Encoder(const Scope& scope, const EncoderConfig& config, const Encoder& shared,
          SourceLocation loc = SourceLocation::current());

  const EncoderConfig& config() const { return config_; }

  /// Returns this model with its Scope in the given mode, for example
  /// `encoder.training()(inputs)`. The parameters are shared.
  Encoder training() const { return in(Mode::training); }
  Encoder evaluation() const { return in(Mode::evaluation); }
  Encoder in(Mode mode) const;
  /// The token embedding table [vocab, embedding width], by which a tied head multiplies.
  Variable token_table() const { return tokens_.weight; }

  /// Builds the whole forward pass. In training mode, applies dropout at the rates of the config,
  /// with random numbers from the key "dropout". Throws GraphError if a rate is not 0 and the Scope
  /// has no mode, and ArgumentError for offsets or token_places that the config does not support,
  /// offsets with an attention mask, and token_places without one. An id or position outside its
  /// table throws DataError at run time.
  EncoderOutputs operator()(const EncoderInputs& inputs,
                            SourceLocation loc = SourceLocation::current()) const;

 private:
  struct Layer {
    std::optional<MultiHeadAttention> attention;
    std::optional<SelfAttention> rotary;  // with rotary positions
    std::optional<DisentangledAttention> disentangled;
    std::optional<LongformerAttention> longformer;  // with global attention
    std::optional<Norm> attention_norm;
    FeedForward feed_forward;
    Norm feed_forward_norm;
  };
  struct Convolution {
    /// Shapes [width, width / groups, kernel] and [width]. Groups with a narrower kernel use only
    /// the middle taps.
    Variable weight, bias;
    Norm norm;
  };
  Encoder(const Scope& scope, const EncoderConfig& config, const Encoder* shared,
          SourceLocation loc);
  void declare_embeddings();
  void share_embeddings(const Encoder& other);
  void declare_projection();
  void declare_relative_positions();
  NormLayerOptions norm_options() const;
  Layer make_layer(const Scope& scope, std::int64_t index) const;
  SelfAttention make_rotary_attention(const Scope& scope, std::int64_t index) const;
  /// Computes padded rows without their padding, given the token_places.
  EncoderOutputs without_padding(const EncoderInputs& padded) const;
  EncoderOutputs run_layers(EncoderInputs inputs) const;
  Value drop(Value x) const;
  Value embed(const EncoderInputs& inputs) const;
  Value positions_of(const EncoderInputs& inputs) const;
  Value attend(std::size_t index, Value x, Value relative, const EncoderInputs& inputs) const;
  Value apply(std::size_t index, Value h, Value relative, const EncoderInputs& inputs) const;
  Value convolve(Value embedded, Value h, Value mask) const;
  bool disentangled() const { return config_.positions == EncoderPositions::disentangled; }

  Scope scope_;
  EncoderConfig config_;
  LinearOptions linear_;
  Embedding tokens_, positions_, token_types_, task_types_;
  std::optional<Norm> embedding_norm_;
  std::optional<Linear> projection_;
  std::vector<Layer> layers_;  // EncoderConfig::distinct_layers() entries
  std::optional<Norm> final_norm_;
  std::optional<RelativeBias> relative_bias_;
  Variable relative_;
  std::optional<Norm> relative_norm_;
  std::optional<Convolution> conv_;
};

}  // namespace weft
