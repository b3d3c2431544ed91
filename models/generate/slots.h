// Key and value caches that are divided into slots, one for each running text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/options.h"
#include "weft/models/generate/window_caches.h"

namespace WEFT_API weft {

struct DecodeSlotsOptions {
  std::int64_t slots = 8;     // maximum number of texts that run at the same time
  std::int64_t capacity = 0;  // maximum length of a text, in tokens; 0 = the context of the model
  /// Maximum number of tokens of a prompt that one run of the model processes. Larger chunks are
  /// faster; smaller ones let other texts continue earlier and need less memory.
  std::int64_t chunk = 64;
  /// Number of tokens at the end of a text that copy() and truncate() can leave out in models with
  /// windows. Layers with a window keep only the last window - 1 + chunk + rewind tokens.
  std::int64_t rewind = 0;

  /// Throws an ArgumentError that names the option, its value and the allowed values.
  void check(const GptConfig& config) const;
};

/// A new token of a running text.
struct SlotToken {
  std::int64_t slot = 0, id = 0;
};

/// The caches of a decoder with a row (slot) for each text. Texts of different lengths join and
/// leave at any time, and a step runs any of them together (continuous batching, Yu et al. 2022).
/// Free slots cost no time. Keys and values are appended and read in place; the caches take 2 *
/// layers * slots * kv_heads * capacity * head_size numbers, or less in layers with a window
/// (DecodeSlotsOptions::rewind).
///
///   DecodeSlots slots(session, gpt.slots_program(tokens), gpt.config());
///   const std::int64_t slot = slots.add();
///   Tensor logits = slots.prefill(slot, prompt);
///   logits = slots.step(std::vector<SlotToken>{{slot, id}, {other, other_id}});
///
/// The logits of a text are the same as if it ran alone, up to rounding (docs/serving.md). If a
/// function throws, all slots are unchanged. (If a run of the model fails for lack of memory in a
/// later chunk of a prompt, and layers with a window have lost the tokens before the prompt, the
/// slot keeps the earlier chunks.) A slot that is not in use, or does not exist, causes
/// an ArgumentError. BatchGenerator (batch_generator.h) adds sampling, rules and a queue.
class DecodeSlots {
 public:
  /// `program` was made by Gpt::slots_program. The session must outlive this object, and nothing
  /// else may use or reset its caches; Sessions can share one VariableStore. Adds a program that
  /// copies rows to the graph: construct the first object of a graph before other threads use the
  /// graph. Throws ArgumentError if options are invalid or if the program has other inputs.
  DecodeSlots(Session& session, const Program& program, const GptConfig& config,
              const DecodeSlotsOptions& options = {});

  /// The options, with the capacity resolved.
  const DecodeSlotsOptions& options() const { return options_; }
  std::int64_t free_slots() const { return options_.slots - used_; }
  /// Returns the number of tokens in a slot.
  std::int64_t length(std::int64_t slot) const { return lengths_[in_use(slot)]; }

  /// Takes the free slot with the lowest number, for a new text. Throws ArgumentError if all slots
  /// are in use.
  std::int64_t add();
  /// Frees a slot.
  void drop(std::int64_t slot);
  /// Copies the first `length` tokens of a slot to a free slot and returns the latter, so that
  /// texts with a common beginning compute it once. Costs a copy of one row of the caches. With
  /// dynamic rotary scaling, the copied keys keep the rotation for the original text, which differs
  /// from that for the new text once either exceeds the trained context. Throws ArgumentError if
  /// all slots are in use, if the slot has fewer tokens, or if `length` is not 0 and a layer with a
  /// window no longer keeps the tokens before it (DecodeSlotsOptions::rewind).
  std::int64_t copy(std::int64_t slot, std::int64_t length);
  /// Moves a text to the free slot `to`. Costs a copy of one row of the caches.
  void move(std::int64_t slot, std::int64_t to);
  /// Removes all tokens after the first `length` tokens of a slot. Throws ArgumentError like
  /// copy().
  void truncate(std::int64_t slot, std::int64_t length);

  /// Appends `ids`, at least one, to a text and returns the logits f32 [1, vocab] of the next
  /// token. Runs the model once for every `chunk` tokens. `text_length` is the length of the whole
  /// prompt if this call processes only a part of it; only dynamic and longrope rotary scaling use
  /// it. Throws ArgumentError if the text exceeds the capacity, and DataError if an id is not in
  /// the vocabulary.
  Tensor prefill(std::int64_t slot, std::span<const std::int64_t> ids,
                 std::optional<std::int64_t> text_length = std::nullopt);
  /// Appends one token to each of several texts, in one run of the model, and returns the logits of
  /// their next tokens, f32 [tokens, vocab]. Throws like prefill(), and ArgumentError if `tokens`
  /// is empty or names a slot twice.
  Tensor step(std::span<const SlotToken> tokens);

 private:
  std::size_t in_use(std::int64_t slot) const;  // its index; throws unless the slot is in use
  std::int64_t first_free() const;
  void check_room(std::int64_t slot, std::int64_t added) const;
  /// Throws unless the slot can continue after its first `length` tokens; `verb` is for the error.
  void check_kept(std::int64_t slot, std::int64_t length, const char* verb) const;
  void copy_row(std::int64_t from, std::int64_t to);
  DimValues sizes() const;
  /// Runs the model on new tokens [rows, new] of `slots`, of which the first `count` per row are
  /// not padding. They follow `positions` earlier ones.
  Tensor run(const Tensor& tokens, const TokenIds& slots, const TokenIds& positions,
             std::int64_t count, const TokenIds& text_lengths);

  Session& session_;
  Program program_;
  Program copy_;
  DType id_type_;
  DecodeSlotsOptions options_;
  WindowCaches caches_;
  std::int64_t vocab_;
  std::vector<std::int64_t> lengths_;  // by slot; -1 if free
  /// By slot: the number of tokens that were ever written, also by longer texts. Meaningless for
  /// empty slots.
  std::vector<std::int64_t> written_;
  std::int64_t used_ = 0;
};

}  // namespace weft
