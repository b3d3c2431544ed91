// Conversations packed into rows of ids. Each is computed as if it were alone in its row.
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

/// Ids that count in the loss.
enum class InstructionLoss : std::uint8_t {
  answers,  // ids of answers, including their end
  all,      // also the ids of questions and of the format itself
};
/// "answers", "all".
ChoiceNames choice_names(InstructionLoss);

/// The inputs of a conversation, and the target to predict from each of them.
struct InstructionExample {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;  // -100: not counted

  std::int64_t counted() const;
};
/// Encodes a conversation with encode_chat. Throws the same exceptions as encode_chat.
InstructionExample make_example(const Tokenizer& tokenizer, const ChatFormat& format,
                                const Conversation& turns,
                                InstructionLoss loss = InstructionLoss::answers);

/// Inputs of the programs "train" and "evaluate" of an instruction-tuned model: "tokens", "targets"
/// and "segments" i32 [batch, seq], "positions" i64 [batch, seq].
struct InstructionBatch {
  NamedTensors inputs;
  std::int64_t tokens = 0;   // without padding
  std::int64_t counted = 0;  // targets that count
};

/// Examples packed into rows. A row may contain several examples. Each has positions from 0 and a
/// separate segment, so that it attends only to itself.
class InstructionRows {
 public:
  /// Packs the examples into rows of up to `context` ids. Examples that are longer or have no
  /// counted targets are left out: a truncated example would teach answers without ends. The seed
  /// determines which examples share a row. If `packed` is false, every example gets a separate
  /// row.
  InstructionRows(std::vector<InstructionExample> examples, std::int64_t context,
                  std::uint64_t seed, bool packed = true);

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  std::int64_t examples() const { return static_cast<std::int64_t>(examples_.size()); }
  std::int64_t left_out() const { return left_out_; }
  std::int64_t tokens() const { return tokens_; }
  /// Number of targets that count.
  std::int64_t counted() const { return counted_; }

  /// A training batch of `rows` rows, padded to `context`. Every row occurs once per epoch, in an
  /// order that is drawn for each epoch. Throws the same exceptions as Epochs::examples.
  InstructionBatch batch(std::int64_t rows, const BatchPart& part) const;
  /// At most `count` rows from row `first` on, padded to the longest of them.
  InstructionBatch in_order(std::int64_t first, std::int64_t count) const;

 private:
  InstructionBatch make(std::span<const std::int64_t> rows, std::int64_t length) const;
  std::int64_t length(std::int64_t row) const;

  std::vector<InstructionExample> examples_;
  std::vector<std::vector<std::size_t>> rows_;  // indices of the examples in each row
  std::int64_t context_, left_out_ = 0, tokens_ = 0, counted_ = 0;
  Epochs epochs_;
};

}  // namespace weft
