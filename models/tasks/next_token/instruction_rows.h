// Conversations as rows of ids in which each stands as if it were alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/chat/chat_format.h"
#include "weft/models/chat/conversation.h"
#include "weft/models/data/batch_part.h"
#include "weft/models/data/epochs.h"
#include "weft/models/fields/choice.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Which ids count in a loss.
enum class InstructionLoss : std::uint8_t {
  answers,  // those of answers, with what ends them
  all,      // questions and the format's own, too
};
/// "answers", "all".
ChoiceNames choice_names(InstructionLoss);

/// A conversation as what a model reads and what it is to predict from each id.
struct InstructionExample {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;  // -100 where nothing counts

  std::int64_t counted() const;
};
/// The ids of a conversation as encode_chat makes them. Throws as encode_chat.
InstructionExample make_example(const Tokenizer& tokenizer, const ChatFormat& format,
                                const Conversation& turns,
                                InstructionLoss loss = InstructionLoss::answers);

/// Inputs of "train" and "evaluate" of a model that learns from instructions: "tokens", "targets"
/// and "segments" i32 [batch, seq], "positions" i64 [batch, seq].
struct InstructionBatch {
  NamedTensors inputs;
  std::int64_t tokens = 0;   // without padding
  std::int64_t counted = 0;  // targets
};

/// Examples packed in rows. Several stand in one, each with positions from 0 and a segment of its
/// own, so that it sees itself only.
class InstructionRows {
 public:
  /// Rows of up to `context` ids. Examples that are longer, or where nothing counts, are left out:
  /// one that was cut would teach answers without ends. Which examples share a row depends on the
  /// seed. Where nothing is `packed`, every example has a row.
  InstructionRows(std::vector<InstructionExample> examples, std::int64_t context,
                  std::uint64_t seed, bool packed = true);

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t examples() const { return static_cast<std::int64_t>(examples_.size()); }
  std::int64_t left_out() const { return left_out_; }
  std::int64_t tokens() const { return tokens_; }
  /// Targets that count.
  std::int64_t counted() const { return counted_; }

  /// The rows of a training's batch: all once in an epoch, in an order that each draws anew. They
  /// are filled up to `context`. Throws as Epochs::examples.
  InstructionBatch batch(std::int64_t rows, const BatchPart& part) const;
  /// Rows `first` ... of the set, `count` at most, filled up to the longest of them.
  InstructionBatch in_order(std::int64_t first, std::int64_t count) const;

 private:
  InstructionBatch make(std::span<const std::int64_t> rows, std::int64_t length) const;
  std::int64_t length(std::int64_t row) const;

  std::vector<InstructionExample> examples_;
  std::vector<std::vector<std::size_t>> rows_;  // examples of each
  std::int64_t context_, left_out_ = 0, tokens_ = 0, counted_ = 0;
  Epochs epochs_;
};

}  // namespace weft
