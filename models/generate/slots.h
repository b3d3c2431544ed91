// Key and value caches of running texts, which are divided into blocks that texts can share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/block_pool.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

struct DecodeSlotsOptions {
  std::int64_t slots = 8;     // maximum number of texts that run at the same time
  std::int64_t capacity = 0;  // maximum length of a text, in tokens; 0 = the context of the model
  /// Maximum number of tokens of a prompt that one run of prefill() processes. Larger chunks are
  /// faster; smaller ones let other texts continue earlier and need less memory.
  std::int64_t chunk = 64;
  std::int64_t block = 32;  // tokens per block of the caches
  /// Number of blocks, at least enough for one text of `capacity` tokens; 0 = enough for all slots.
  /// cache_bytes() returns their size.
  std::int64_t blocks = 0;
  /// Keeps full blocks of dropped texts until their memory is needed, so that texts with the same
  /// beginning do not compute it again.
  bool reuse_prefixes = true;

  /// Throws an ArgumentError that names the option, its value and the allowed values.
  void check(const GptConfig& config) const;
};

/// The texts in the slots need more blocks than are free. Drop a text, or wait until one ends.
class CacheFullError : public ErrorOf<CacheFullError> {
 public:
  using ErrorOf::ErrorOf;
};

/// Returns the bytes of the caches of a program of Gpt::slots_program (possibly quantised) with
/// these blocks: the sum over all layers.
std::int64_t cache_bytes(const Program& slots_program, std::int64_t block, std::int64_t blocks);

/// New tokens of a running text.
struct SlotTokens {
  std::int64_t slot = 0;
  TokenIds ids = {};
  /// Number of ids, at the end of `ids`, after which the logits of the next token are computed: 1
  /// for the logits after the last id, 0 within a prompt.
  std::int64_t wanted = 1;
  /// The length of the whole prompt if `ids` are a part of it; only dynamic and longrope rotary
  /// scaling use it. 0 = the length of the text with `ids`.
  std::int64_t text_length = 0;
};

/// A new text in a slot. Its first `reused` tokens are already in the caches.
struct AddedSlot {
  std::int64_t slot = 0, reused = 0;
};

/// The caches of a decoder with a slot for each text. Texts of different lengths join and leave at
/// any time, and a step runs any of them together (continuous batching, Yu et al. 2022). Keys and
/// values are in blocks of a fixed number of tokens, which a text takes as it grows, and which
/// texts with a common beginning share (Kwon et al. 2023). They are appended and read in place.
///
///   DecodeSlots slots(session, gpt.slots_program(tokens), gpt.config());
///   const auto [slot, reused] = slots.add(prompt);
///   Tensor logits = slots.prefill(slot, std::span(prompt).subspan(reused));
///   logits = slots.step(std::vector<SlotTokens>{{slot, {id}}, {other, {other_id}}});
///
/// The logits of a text are the same as if it ran alone: bit for bit in batch-invariant programs,
/// otherwise up to rounding (docs/serving/batching.md). If a function throws, all texts are
/// unchanged. A slot that is not in use, or does not exist, causes an ArgumentError. BatchGenerator
/// (batch_generator.h) adds sampling, rules and a queue.
class DecodeSlots {
 public:
  /// `program` was made by Gpt::slots_program. The session must outlive this object, and nothing
  /// else may use or reset its caches; Sessions can share one VariableStore. Adds a program that
  /// copies blocks to the graph: construct the first object of a graph before other threads use the
  /// graph. Throws ArgumentError if options are invalid or if the program has other inputs.
  DecodeSlots(Session& session, const Program& program, const GptConfig& config,
              const DecodeSlotsOptions& options = {});

  /// The options, with the capacity and the number of blocks resolved.
  const DecodeSlotsOptions& options() const { return options_; }
  std::int64_t free_slots() const { return options_.slots - used_; }
  /// Returns the number of blocks that no running text uses.
  std::int64_t free_blocks() const { return pool_.available(); }
  /// Returns the number of free blocks that hold reusable beginnings of texts.
  std::int64_t reusable_blocks() const { return pool_.evictable(); }
  /// Returns the number of blocks of a text with this many tokens.
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + options_.block - 1) / options_.block;
  }
  /// Returns the number of free blocks that a text takes when `added` tokens are appended: one more
  /// than its growth if it must first copy a block that it shares.
  std::int64_t blocks_needed(std::int64_t slot, std::int64_t added) const;
  /// Returns the number of tokens in a slot.
  std::int64_t length(std::int64_t slot) const { return std::ssize(text(slot).ids); }

  /// Takes the free slot with the lowest number, for a new text. Throws ArgumentError if all slots
  /// are in use.
  std::int64_t add() { return add({}).slot; }
  /// Takes a free slot, and finds the longest beginning of `prompt` in the blocks of other texts
  /// that run or ran with the same `adapter`, so that the caller appends only the rest. At least
  /// the last id of the prompt is left. `adapter` is the number of the weights that compute the
  /// text; it is fed to the input "slot_adapters", i64 [rows], if the program has it.
  AddedSlot add(std::span<const std::int64_t> prompt, std::int64_t adapter = 0);
  /// Frees a slot.
  void drop(std::int64_t slot);
  /// Copies the first `length` tokens of a slot to a free slot and returns the latter. Costs no
  /// time: the texts share the blocks, and a text that appends to a shared block copies it first.
  /// With dynamic rotary scaling, the copied keys keep the rotation for the original text, which
  /// differs from that for the new text once either exceeds the trained context. Throws
  /// ArgumentError if all slots are in use or if the slot has fewer tokens.
  std::int64_t copy(std::int64_t slot, std::int64_t length);
  /// Removes all tokens after the first `length` tokens of a slot. Throws ArgumentError if it has
  /// fewer tokens.
  void truncate(std::int64_t slot, std::int64_t length);

  /// Appends ids, at least one each, to one or several texts in one run of the model, and returns
  /// the logits of the wanted next tokens, f32 [sum of wanted, vocab], in the order of `tokens`.
  /// Throws ArgumentError if `tokens` is empty, names a slot twice or exceeds the capacity,
  /// DataError if an id is not in the vocabulary, and CacheFullError if the texts need more blocks
  /// than are free.
  Tensor step(std::span<const SlotTokens> tokens);
  /// Appends `ids`, at least one, to a text and returns the logits f32 [1, vocab] of the next
  /// token. Runs the model once for every `chunk` tokens. `text_length` is the length of the whole
  /// prompt if this call processes only a part of it. Throws like step().
  Tensor prefill(std::int64_t slot, std::span<const std::int64_t> ids,
                 std::optional<std::int64_t> text_length = std::nullopt);

  /// Runs the model on the largest batches, so that later runs need no more memory: texts in all
  /// slots, a chunk of a prompt, and both, and `rows` tokens of which all logits are wanted. To be
  /// called while no slot is in use.
  void run_largest(std::int64_t rows = 1);

 private:
  /// The tokens of a slot. Block i contains the tokens from i * block on.
  struct Text {
    bool used = false;
    TokenIds ids;
    std::int64_t adapter = 0;
    std::vector<std::int64_t> blocks;
    std::vector<BlockPool::Place> places;  // of the first blocks, which are indexed
    bool indexable = true;  // false after a part was rotated for a long text (rotary scaling)
  };

  std::size_t index(std::int64_t slot) const;  // throws unless the slot is in use
  const Text& text(std::int64_t slot) const { return texts_[index(slot)]; }
  std::int64_t first_free() const;
  void check_tokens(std::span<const SlotTokens> tokens) const;
  void check_ids(std::span<const std::int64_t> ids) const;
  void check_length(std::int64_t slot, std::int64_t length, const char* verb) const;
  void check_room(std::int64_t slot, std::int64_t added) const;
  void check_blocks(std::int64_t needed) const;
  /// Returns true if keys do not depend on the length of a text of up to `length` tokens.
  bool rotates_alike(std::int64_t length) const;
  /// Returns the ids of block i of a text, as they are indexed.
  TokenIds block_ids(std::span<const std::int64_t> ids, std::int64_t adapter, std::int64_t i) const;
  /// Ensures that the text owns the block of its next token, and takes blocks for `added` tokens.
  void reserve(Text& text, std::int64_t added);
  /// Releases the blocks after the first `count`.
  void release(Text& text, std::int64_t count);
  void append(Text& text, const SlotTokens& added);
  Tensor run(std::span<const SlotTokens> tokens);
  DimValues sizes() const;

  Session& session_;
  Program program_;
  Program copy_;
  DType id_type_;
  GptConfig config_;
  DecodeSlotsOptions options_;
  std::int64_t columns_ = 0;  // blocks per row of the program's table
  BlockPool pool_;
  std::vector<Text> texts_;  // by slot
  std::int64_t used_ = 0;
};

}  // namespace weft
