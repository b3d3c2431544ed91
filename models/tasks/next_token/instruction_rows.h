// Conversations packed into rows of ids. Results are the same as if each conversation had its own
// row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/batching/batch_part.h"
#include "weft/models/data/batching/epochs.h"
#include "weft/models/fields/choice.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/chat/conversation.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// The ids that contribute to the loss.
enum class InstructionLoss : std::uint8_t {
  answers,  // answer ids, including end ids
  all,      // all ids, including questions and the ids added by the chat format
};
/// "answers", "all".
ChoiceNames choice_names(InstructionLoss);

/// The inputs of a conversation, and the target for each input.
struct InstructionExample {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;  // -100: not included in the loss

  std::int64_t counted() const;
};
/// Makes an example by encoding a conversation with encode_chat(). Throws the same exceptions as
/// encode_chat().
InstructionExample make_example(const Tokenizer& tokenizer, const ChatFormat& format,
                                const Conversation& turns,
                                InstructionLoss loss = InstructionLoss::answers);

/// Inputs for the programs "train" and "evaluate" of an instruction-tuned model: "tokens",
/// "targets" and "segments" i32 [batch, seq], "positions" i64 [batch, seq].
struct InstructionBatch {
  NamedTensors inputs;
  std::int64_t tokens = 0;   // number of tokens without padding
  std::int64_t counted = 0;  // number of targets in the loss
};

/// Examples packed into rows. A row may contain several examples. Each example has positions from 0
/// and its own segment, so that it attends only to itself.
class InstructionRows {
 public:
  /// Packs the examples into rows of up to `context` ids. Examples without counted targets are
  /// dropped. Longer examples are also dropped, because training on truncated examples would
  /// produce answers that never end. The seed determines which examples share a row. If `packed` is
  /// false, every example has its own row.
  InstructionRows(std::vector<InstructionExample> examples, std::int64_t context,
                  std::uint64_t seed, bool packed = true);

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t examples() const { return static_cast<std::int64_t>(examples_.size()); }
  /// Returns the number of examples that were dropped because they are too long, or because nothing
  /// in them is counted.
  std::int64_t too_long() const { return too_long_; }
  std::int64_t without_targets() const { return without_targets_; }
  std::int64_t left_out() const { return too_long_ + without_targets_; }
  std::int64_t tokens() const { return tokens_; }
  /// Returns the number of targets in the loss.
  std::int64_t counted() const { return counted_; }

  /// Returns a training batch of `rows` rows, padded to `context`. Every row occurs once per epoch,
  /// in a random order that differs between epochs. Throws the same exceptions as Epochs::examples.
  InstructionBatch batch(std::int64_t rows, const BatchPart& part) const;
  /// Returns at most `count` rows, starting at row `first`, padded to the longest of them.
  InstructionBatch in_order(std::int64_t first, std::int64_t count) const;

 private:
  InstructionBatch make(std::span<const std::int64_t> rows, std::int64_t length) const;
  std::int64_t length(std::int64_t row) const;

  std::vector<InstructionExample> examples_;
  std::vector<std::vector<std::size_t>> rows_;  // indices of the examples in each row
  std::int64_t context_, too_long_ = 0, without_targets_ = 0, tokens_ = 0, counted_ = 0;
  Epochs epochs_;
};

}  // namespace weft
