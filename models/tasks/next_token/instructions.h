// A language model learns to answer: instruction tuning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/chat/conversation.h"
#include "weft/models/tasks/next_token/instruction_rows.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// A language model of the task "instructions", not trainable yet, which keeps its chat format:
/// what writes with it ends answers as the format does. "train" and "evaluate" have the inputs of
/// InstructionBatch, and a loss that is the mean over the targets that count. The tokenizer stays
/// as it is: a mark of the format that it has no id for ("<|im_end|>" of ChatML with GPT-2's) is
/// text, which works with frozen embeddings, too. Throws as build_language_model.
LanguageModel build_instructed_model(const GptConfig& config, const Tokenizer& tokenizer,
                                     const ChatFormat& format, const TrainSettings& settings);

/// What a model learns from and is measured on.
struct InstructionData {
  InstructionRows train, validation;
  std::vector<Conversation> held_out;  // of `validation`, those that were left out as well

  /// Throws DataError where no conversation of the first part is left within the context.
  InstructionData(const LanguageModel& model, const std::vector<Conversation>& train,
                  const std::vector<Conversation>& held_out, InstructionLoss loss);
};

/// Mean loss of `evaluate` per id of the answers: over `batches` batches of `rows` rows, spread
/// evenly, or over all where that is 0.
double instruction_loss(Session& session, const Program& evaluate, const InstructionRows& rows,
                        std::int64_t batch, std::int64_t batches = 0);

/// What a model answers to conversations that end with a question: its likeliest ids, up to the
/// format's end or `most_tokens` of them; without blanks at the ends. Texts that leave no room in
/// the model's context get no answer. Throws ArgumentError for a model without a chat format.
std::vector<std::string> instruction_answers(Session& session, const LanguageModel& model,
                                             const std::vector<Conversation>& questions,
                                             std::int64_t most_tokens = 256);

/// Last answers of conversations, and what the model says in their places.
struct AnsweredInstructions {
  std::vector<Conversation> questions;
  std::vector<std::string> expected, answers;

  /// Share of the answers that are what was expected, but for blanks at their ends.
  double exact_match() const;
};
/// Of `most` conversations, evenly spread; of all for 0.
AnsweredInstructions answer_instructions(Session& session, const LanguageModel& model,
                                         const std::vector<Conversation>& conversations,
                                         std::int64_t most = 0);

/// Conversations whose answers are compared with each other in an evaluation of everything.
inline constexpr std::int64_t kComparedAnswers = 200;

/// Training on packed rows, with looks at those held out: the loss per id of the answers, its
/// perplexity, and, over everything, the exact match of greedy answers to kComparedAnswers of them.
/// Session, model and data must outlive the task.
TrainTask instruction_task(Session& session, const LanguageModel& model,
                           const InstructionData& data);

}  // namespace weft
