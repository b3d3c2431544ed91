// The encoders of the BERT family: BERT (Devlin et al. 2019), RoBERTa (Liu et al. 2019), DistilBERT
// (Sanh et al. 2019), ALBERT (Lan et al. 2020), ELECTRA (Clark et al. 2020), DeBERTa (He et al.
// 2021) and its versions 2 and 3 are one builder; what differs is in the config.
//
//   h = norm(tokens[ids] + positions[p] + token_types[t])        (projected where widths differ)
//   for every layer:  h = attention_norm(h + attention(h))
//                     h = feed_forward_norm(h + down(activation(up(h))))
// or, where norms come first:
//   h = tokens[ids] + positions[p] + token_types[t]
//   for every layer:  h = h + attention(attention_norm(h))
//                     h = h + down(activation(up(feed_forward_norm(h))))
//
// Parameters, below the scope:
//   embeddings.{tokens,positions,token_types}.weight [rows, embedding width]
//   embeddings.norm.{weight,bias}, embeddings.projection.{weight,bias}
//   layers.<i>.attention.{query,key,value,out}.{weight,bias}   (see multi_head_attention.h and
//                                                               disentangled_attention.h for more)
//   layers.<i>.{attention_norm,feed_forward_norm}.{weight,bias}
//   layers.<i>.feed_forward.{up,down}.{weight,bias}
//   relative_positions.weight [2 span, width], relative_positions.norm.{weight,bias}
//   conv.{weight,bias}, conv.norm.{weight,bias}
// Matrices are [out, in]. Layers that share weights (ALBERT) have one <i> for all of them.
#pragma once

#include <optional>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/layers/disentangled_attention.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/multi_head_attention.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// What an encoder reads.
struct EncoderInputs {
  Value ids;  // i32 or i64 [batch, seq]
  /// Optional, any dtype, [batch, seq]: 1 where there is a token, 0 for padding. Every row must
  /// have a token.
  Value attention_mask = {};
  /// Optional, i32 or i64 [batch, seq]; all 0 if absent.
  Value token_type_ids = {};
  /// Optional, i32 or i64 [batch, seq]; as the config says if absent.
  Value position_ids = {};
};

/// What an encoder gives.
struct EncoderOutputs {
  Value last_hidden_state;  // [batch, seq, width]
  /// layers + 1 values [batch, seq, width]: the embeddings, and what every layer gives.
  std::vector<Value> hidden;
};

/// The parameters of an encoder.
class Encoder {
 public:
  /// Declares all parameters below `scope`. Throws ArgumentError where the config makes no sense.
  Encoder(const Scope& scope, const EncoderConfig& config,
          SourceLocation loc = SourceLocation::current());
  /// The same without embeddings of its own: tables of tokens, positions and token types and their
  /// norm are those of `shared` (ELECTRA's generator); only a projection is declared. Throws
  /// ArgumentError where the configs differ in what they are made of.
  Encoder(const Scope& scope, const EncoderConfig& config, const Encoder& shared,
          SourceLocation loc = SourceLocation::current());

  const EncoderConfig& config() const { return config_; }
  /// The table of tokens: what a tied head multiplies with.
  Variable token_table() const { return tokens_.weight; }

  /// The whole forward pass; `training` applies the config's dropouts, drawn from the key
  /// "dropout". A position or id outside its table is a DataError of the run.
  EncoderOutputs operator()(const EncoderInputs& inputs, bool training = false,
                            SourceLocation loc = SourceLocation::current()) const;

 private:
  struct Layer {
    std::optional<MultiHeadAttention> attention;
    std::optional<DisentangledAttention> disentangled;
    Norm attention_norm;
    FeedForward feed_forward;
    Norm feed_forward_norm;
  };
  struct Convolution {
    /// [width, width / groups, kernel], [width]; narrower groups use the middle of it.
    Variable weight, bias;
    Norm norm;
  };
  Encoder(const Scope& scope, const EncoderConfig& config, const Encoder* shared,
          SourceLocation loc);
  void declare_embeddings();
  void share_embeddings(const Encoder& other);
  void declare_projection();
  void declare_relative_positions();
  Layer make_layer(const Scope& scope) const;
  Value drop(Value x, bool training) const;
  Value embed(const EncoderInputs& inputs, bool training) const;
  Value positions_of(const EncoderInputs& inputs) const;
  Value apply(const Layer& layer, Value h, Value relative, const EncoderInputs& inputs,
              bool training) const;
  Value convolve(Value embedded, Value h, Value mask, bool training) const;
  bool disentangled() const { return config_.positions == EncoderPositions::disentangled; }

  Scope scope_;
  EncoderConfig config_;
  LinearOptions linear_;
  Embedding tokens_, positions_, token_types_;
  std::optional<Norm> embedding_norm_;  // unless norms come first
  std::optional<Linear> projection_;
  std::vector<Layer> layers_;  // those with weights
  Variable relative_;
  std::optional<Norm> relative_norm_;
  std::optional<Convolution> conv_;
};

}  // namespace weft
