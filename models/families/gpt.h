// Decoders of the GPT family: GPT-1 (Radford et al. 2018), GPT-2 (2019), GPT-NeoX (Black et al.
// 2022), LLaMA (Touvron et al. 2023), and the decoders that followed. One class builds them;
// GptConfig selects the differences. With GPT-2's config:
//
//   h = wte[ids] + wpe[positions]
//   for every block:  h += attn(ln_1(h));  h += mlp(ln_2(h))
//   logits = ln_f(h) wte^T
//
// Parameters have the names of Hugging Face's GPT2LMHeadModel:
//   transformer.wte.weight [vocab, embeddings()]
//   transformer.wpe.weight [position_offset + context, width]  (learned positions)
//   transformer.wte_norm.{weight,bias}                     (with embedding_norm)
//   transformer.{project_in,project_out}.weight            (with embedding_width)
//   transformer.h.<i>.{ln_1,ln_2}.{weight,bias}            (no ln_2 with parallel_one_norm)
//   transformer.h.<i>.{ln_1_post,ln_2_post}.{weight,bias}  (with sandwich)
//   transformer.h.<i>.attn.{c_attn,c_proj}.{weight,bias}   (or attn.{query,key,value} for c_attn)
//   transformer.h.<i>.attn.{query_norm,key_norm}.weight    (with qk_norm)
//   transformer.h.<i>.attn.sinks [heads]                   (with sinks)
//   transformer.h.<i>.mlp.{c_fc,c_proj}.{weight,bias}      (and mlp.gate if gated, or mlp.gate_up
//                                                           for mlp.{gate,c_fc} with fused_gate)
//   transformer.ln_f.{weight,bias}                         (absent with post_norm)
// Latent attention has the parameters of LatentProjection instead of c_attn, and layers with
// experts have those of MixtureOfExperts below mlp. lm_head.weight is an alias of
// transformer.wte.weight if the head is tied, otherwise a parameter of the same shape. A GPT
// without a head has neither; lm_head.bias [vocab] exists with head_bias.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "weft/graph/functions/loss.h"
#include "weft/graph/ir/program.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/experts/mixture_of_experts.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// Inputs of a GPT.
struct GptInputs {
  /// i32 or i64 [batch, seq].
  Value ids;
  /// Optional, any dtype, [batch, seq]: 1 for tokens, 0 for padding, which may be on either side or
  /// between tokens. Attention takes O(seq^2) memory with a mask, and O(seq) memory without one.
  Value attention_mask = {};
  /// Optional, i32 or i64 [batch, seq]; 0, 1, 2, ... in every row if absent, with or without a
  /// mask, except with masked_positions. ALiBi ignores them.
  Value position_ids = {};
  /// Optional, i32 or i64 [batch, seq]; cannot be combined with attention_mask. A token attends
  /// only to tokens of its own segment, so that several independent texts can be packed into one
  /// row (with position_ids that restart in each text). Takes seq^2 bytes of memory per row.
  Value segments = {};
  /// Optional, i32 or i64 [batch, seq]: looked up in the token table and added to the embeddings
  /// (GPT-1, GPT-2).
  Value token_type_ids = {};
};

/// Head of a GPT. With `none` there are no logits; other heads use last_hidden_state.
enum class GptHead : std::uint8_t { language_model, none };

/// Outputs of a GPT.
struct GptOutputs {
  Value logits;  // [batch, seq, vocab]; undefined without a head
  /// [batch, seq, embeddings()], after the final norm and project_out.
  Value last_hidden_state;
  /// layers + 1 values [batch, seq, width]: the input of every block, then last_hidden_state.
  std::vector<Value> hidden;
  std::vector<Routing> routings;  // of the layers with experts
};

/// Inputs of an incremental decoding step.
struct GptDecodeInputs {
  /// i32 or i64 [batch, new].
  Value tokens;
  /// Number of filled cache entries, i64: [batch], or a scalar if it is the same in every row.
  Value position = {};
  /// Optional, i32 or i64 [batch, new]; position, position + 1, ... if absent.
  Value position_ids = {};
  /// Optional, bool [batch, capacity]: false for cache entries that are padding.
  Value mask = {};
  /// Optional, i32 or i64 [batch], without duplicates: the row of the caches that each row of the
  /// batch continues, so that a step can run any rows of larger caches. The caches then have
  /// `slots` rows and are called "slots.h.<i>.{keys,values}". If it is [batch, columns], the rows
  /// are blocks of `capacity` tokens of a text, one after the other; they may be shared by texts.
  /// New tokens are not written to row -1.
  Value cache_rows = {};
  Dim slots = {};
  /// Optional, i64 [batch], in [0, new]: the number of new tokens in each row. The others follow
  /// them and are padding: they are computed but change no result, because the next tokens of the
  /// row replace their cache entries. `position` + new must not exceed the capacity, even so. By
  /// default, the logits are those of the last of them, of which there must be one.
  Value counts = {};
  /// Optional, i64 [n], in [0, batch * new): the new tokens after which the logits of the next
  /// token are computed, as indices row * new + column. The logits are then [n, vocab].
  Value wanted = {};
  /// Optional, i64 scalar or [batch]: the length of the whole text, which only dynamic and
  /// longrope rotary scaling use. By default `position` + new (or `counts`), or the last
  /// of `position_ids` + 1. A prompt that is processed in several steps needs its full length here
  /// for the same result as in one step.
  Value text_length = {};
  /// The largest number of new tokens per run. If it is not 0, the caches of layers with a window
  /// are ring buffers that keep only the last window - 1 + piece tokens. By default, all layers
  /// keep all tokens.
  Dim piece = {};
};

/// Outputs of an incremental decoding step.
struct GptDecoding {
  Value logits;     // [batch, vocab], for the last new token of each row (see `wanted`)
  Updates updates;  // new values of the key/value caches
};

/// A GPT: declares its parameters once and can be applied any number of times. The mode of its
/// Scope determines whether dropout is applied; decoding is always evaluation.
class Gpt {
 public:
  /// Declares all parameters below `scope`, which must be the root for Hugging Face's names. Throws
  /// ArgumentError if the config is invalid.
  Gpt(const Scope& scope, const GptConfig& config, GptHead head = GptHead::language_model,
      SourceLocation loc = SourceLocation::current());

  const GptConfig& config() const { return config_; }

  /// Returns this model with its Scope in the given mode, for example
  /// `gpt.training()(inputs)`. The parameters are shared.
  Gpt training() const { return in(Mode::training); }
  Gpt evaluation() const { return in(Mode::evaluation); }
  Gpt in(Mode mode) const;

  /// Sets how keys are excluded in rows with padding, for models whose published implementation
  /// differs from GPT-2's.
  void set_padded_causality(const PaddedCausality& padded);

  /// Builds the whole forward pass. In training mode, applies dropout at the rates of the config,
  /// with random numbers from the key "dropout". Throws GraphError if a rate is not 0 and the Scope
  /// has no mode. With learned positions, a sequence longer than `context` throws DataError at run
  /// time.
  GptOutputs operator()(const GptInputs& inputs,
                        SourceLocation loc = SourceLocation::current()) const;

  /// Builds an incremental decoding step. New tokens (i32 or i64 [batch, new]) follow `position`
  /// (i64 scalar or [batch]) earlier ones. The keys and values of the earlier tokens are in the
  /// variables "cache.h.<i>.{keys,values}" [batch, kv_heads, capacity, head_size], which this
  /// function declares; they are extended in place. Position 0 starts new texts. The model must
  /// have a head and causal attention. At run time, tokens beyond `capacity` and invalid
  /// `cache_rows` throw DataError, and the caches are unchanged. May be called once per graph with
  /// `cache_rows` and once without.
  GptDecoding decode(const GptDecodeInputs& inputs, const Dim& capacity,
                     SourceLocation loc = SourceLocation::current()) const;
  GptDecoding decode(Value tokens, Value position, const Dim& capacity,
                     SourceLocation loc = SourceLocation::current()) const {
    return decode({.tokens = tokens, .position = position}, capacity, loc);
  }
  GptDecoding decode(Value tokens, Value position,
                     SourceLocation loc = SourceLocation::current()) const {
    return decode(tokens, position, Dim(config_.context), loc);
  }
  /// Returns decode() as a program for a Generator. Inputs: `tokens`; "position" as above;
  /// "positions", i64 [batch, new], the positions of the new tokens in their texts; "visible", bool
  /// [batch, capacity], false for cache entries that are padding. Output: "logits". The symbol
  /// "capacity" is the size of the caches. In models with windows, the symbol "piece" is `piece` of
  /// GptDecodeInputs. May be called once per graph.
  Program decode_program(Value tokens, SourceLocation loc = SourceLocation::current()) const;
  /// Returns decode() as a program for DecodeSlots and BatchGenerator (models/generate/slots.h), in
  /// which requests of different lengths join and leave a batch. Inputs: `tokens` i32 or i64 [rows,
  /// new]; "slot_blocks", i64 [rows, slot_columns]; "slot_positions", "slot_counts" and
  /// "slot_lengths", i64 [rows]; "slot_wanted", i64 [n]. They are `cache_rows`, `position`,
  /// `counts`, `text_length` and `wanted` of GptDecodeInputs. Output: "logits". The symbols
  /// "cache_blocks" and "cache_block" are the number of blocks and of tokens per block; all layers
  /// keep all tokens. May be called once per graph, independently of decode_program().
  Program slots_program(Value tokens, SourceLocation loc = SourceLocation::current()) const;

 private:
  struct Block {
    Norm ln_1;
    SelfAttention attn;
    std::optional<Norm> ln_1_post, ln_2;
    std::variant<FeedForward, MixtureOfExperts> mlp;
    std::optional<Norm> ln_2_post;
  };
  Norm make_norm(const Scope& scope) const;
  Block make_block(const Scope& scope, std::int64_t index) const;
  SelfAttention make_attention(const Scope& scope, std::int64_t index) const;
  std::variant<FeedForward, MixtureOfExperts> make_mlp(const Scope& scope,
                                                       std::int64_t index) const;
  Value embed(Value ids, Value token_type_ids, Value positions) const;
  /// Applies a block. `updates` receives those of the cache, `routings` that of the experts.
  Value apply(const Block& block, Value h, const AttentionInputs& attention, Updates* updates,
              std::vector<Routing>& routings) const;
  Dim piece() const;            // the symbol of decode programs; 0 without windows
  Value finish(Value h) const;  // final norm and project_out
  Value logits(Value h) const;

  Scope scope_;
  GptConfig config_;
  Embedding wte_;
  std::optional<Embedding> wpe_;
  std::optional<Linear> project_in_, project_out_;
  std::optional<Norm> wte_norm_;
  std::vector<Block> blocks_;
  std::optional<Norm> ln_f_;
  Variable head_;  // wte_.weight if tied
  Variable head_bias_;
};

/// Names the outputs "hidden.0" ... "hidden.<layers>", "last_hidden_state" and "logits" (with a
/// head), so that any program of the graph can fetch them.
void name_outputs(const GptOutputs& outputs);

/// Returns the mean cross-entropy of predicting labels[b][t + 1] from position t, the loss of
/// Hugging Face's language models. logits are [batch, seq, vocab], labels i32 or i64 [batch, seq].
/// Labels of -100 are ignored.
Value next_token_loss(Value logits, Value labels, SourceLocation loc = SourceLocation::current());

/// Returns `loss` plus the losses of the experts' routers with the weights in the config:
/// balancing_weight * joint_balancing_loss() + router_z_weight * mean of the layers' z-losses. With
/// a `mask` [batch, seq], the balancing loss ignores tokens with mask 0. Returns `loss` itself
/// if both weights are 0. `reduction` is that of the loss: with shard_mean, the added losses are
/// averaged over the shards.
Value with_router_losses(Value loss, const GptConfig& config, const GptOutputs& outputs,
                         Value mask = {}, Reduction reduction = Reduction::mean,
                         SourceLocation loc = SourceLocation::current());

}  // namespace weft
