// Decoders of the GPT family: GPT-1 (Radford et al. 2018), GPT-2 (2019), GPT-NeoX (Black et al.
// 2022), LLaMA (Touvron et al. 2023), Mistral (Jiang et al. 2023) are one builder; what differs is
// in the config. With GPT-2's:
//
//   h = wte[ids] + wpe[positions]
//   for every block:  h += attn(ln_1(h));  h += mlp(ln_2(h))
//   logits = ln_f(h) wte^T
//
// Parameters have the names of Hugging Face's GPT2LMHeadModel: transformer.wte.weight [vocab,
// width], transformer.wpe.weight [context, width] (learned positions),
// transformer.h.<i>.{ln_1,ln_2}.{weight,bias}, transformer.h.<i>.attn.{c_attn,c_proj}.{weight,bias}
// (or attn.{query,key,value} for c_attn), transformer.h.<i>.mlp.{c_fc,c_proj}.{weight, bias} (gated
// also mlp.gate), transformer.ln_f.{weight,bias} (not with post-norm). lm_head.weight is an alias
// of transformer.wte.weight, or a parameter [vocab, width] where the head is not tied; a GPT
// without a head has neither.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/layers/attention.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// What a GPT reads.
struct GptInputs {
  Value ids;  // i32 or i64 [batch, seq]
  /// Optional, any dtype, [batch, seq]: 1 where there is a token, 0 for padding (on either side, or
  /// holes). Costs O(seq^2) memory; without it attention costs O(seq).
  Value attention_mask = {};
  /// Optional, i32 or i64 [batch, seq]; 0, 1, 2, ... in every row if absent, mask or no mask. ALiBi
  /// takes no notice of them.
  Value position_ids = {};
  /// Optional, i32 or i64 [batch, seq], not with attention_mask: a token sees those of its own
  /// segment only, so that several texts stand in one row as if each were alone (with position_ids
  /// that begin anew with each). Costs seq^2 bytes of memory for each row.
  Value segments = {};
  /// Optional, i32 or i64 [batch, seq]: looked up in the table of tokens and added (GPT-1, GPT-2).
  Value token_type_ids = {};
};

/// Whether there are logits: other heads stand on last_hidden_state.
enum class GptHead : std::uint8_t { language_model, none };

/// What a decoder gives.
struct GptOutputs {
  Value logits;             // [batch, seq, vocab]; undefined without a head
  Value last_hidden_state;  // [batch, seq, width], after the final norm
  /// layers + 1 values [batch, seq, width]: the input of block i, and last_hidden_state.
  std::vector<Value> hidden;
};

/// What a step of incremental decoding reads.
struct GptDecodeInputs {
  Value tokens;         // i32 or i64 [batch, new]
  Value position = {};  // i64 scalar: entries of the caches that are filled, the same in every row
  /// Optional, i32 or i64 [batch, new]; position, position + 1, ... if absent.
  Value position_ids = {};
  /// Optional, bool [batch, capacity]: false for entries of the caches that are padding.
  Value mask = {};
};

/// One step of incremental decoding.
struct GptDecoding {
  Value logits;     // [batch, vocab]: of the last new token
  Updates updates;  // of the key/value caches
};

/// The parameters of a GPT, to be applied as often as programs need it.
class Gpt {
 public:
  /// Declares all parameters below `scope` (the root, for Hugging Face's names). Throws
  /// ArgumentError where the config makes no sense.
  Gpt(const Scope& scope, const GptConfig& config, GptHead head = GptHead::language_model,
      SourceLocation loc = SourceLocation::current());

  const GptConfig& config() const { return config_; }

  /// For models whose published form differs from GPT-2's there.
  void set_padded_causality(const PaddedCausality& padded);

  /// The whole forward pass. `training` applies the config's dropouts, drawn from the key
  /// "dropout". With learned positions, a sequence longer than `context` is a DataError of the run.
  GptOutputs operator()(const GptInputs& inputs, bool training = false,
                        SourceLocation loc = SourceLocation::current()) const;

  /// New tokens (i32 or i64 [batch, new]) after `position` (i64 scalar) earlier ones, the same
  /// number in every row, whose keys and values are in the variables "cache.h.<i>.{keys,values}"
  /// [batch, kv_heads, capacity, head_size]; declares those. Needs a head. Position 0 starts
  /// afresh. Tokens beyond `capacity` are a DataError of the run. May be called once per graph.
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
  /// decode() as a program that a Generator runs. Inputs: `tokens`; "position" as above;
  /// "positions", i64 [batch, new], where the new tokens stand in their texts; "visible", bool
  /// [batch, capacity], false for entries of the caches that are padding. Output "logits". The
  /// symbol "capacity" is the size of the caches. Once per graph.
  Program decode_program(Value tokens, SourceLocation loc = SourceLocation::current()) const;

 private:
  struct Block {
    Norm ln_1;
    SelfAttention attn;
    Norm ln_2;
    FeedForward mlp;
  };
  Block make_block(const Scope& scope, std::int64_t index) const;
  Norm make_norm(const Scope& scope) const;
  Value embed(Value ids, Value positions) const;
  Value apply(const Block& block, Value h, const AttentionInputs& attention, bool training,
              Updates* updates) const;
  Value logits(Value h) const;

  Scope scope_;
  GptConfig config_;
  Embedding wte_;
  std::optional<Embedding> wpe_;
  std::vector<Block> blocks_;
  std::optional<Norm> ln_f_;
  Variable head_;  // wte's, where it is tied
};

/// Names "hidden.0" ... "hidden.<layers>", "last_hidden_state" and "logits" (with a head), so that
/// they can be fetched from any program of the graph.
void name_outputs(const GptOutputs& outputs);

/// Mean cross-entropy of predicting labels[b][t + 1] from position t, labels of -100 not counted
/// (logits [batch, seq, vocab], labels i32 or i64 [batch, seq]): the loss of Hugging Face's
/// language models.
Value next_token_loss(Value logits, Value labels, SourceLocation loc = SourceLocation::current());

}  // namespace weft
