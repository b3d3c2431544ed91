// Instruction tuning: training a language model to answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/chat/conversation.h"
#include "weft/models/tasks/next_token/instruction_rows.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// Builds a language model for the task "instructions", not yet trainable. It keeps its chat
/// format, and generation with it ends answers as the format does. "train" and "evaluate" have the
/// inputs of InstructionBatch, and their loss is the mean over the counted targets. The tokenizer
/// is not changed: a mark of the format that it has no id for ("<|im_end|>" of ChatML with the
/// tokenizer of GPT-2) is encoded as text, which also works with frozen embeddings. Throws the same
/// exceptions as build_language_model.
LanguageModel build_instructed_model(const GptConfig& config, const Tokenizer& tokenizer,
                                     const ChatFormat& format, const TrainSettings& settings);

/// The training and validation data of a model.
struct InstructionData {
  InstructionRows train, validation;
  /// The conversations of `validation`, including those left out of its rows.
  std::vector<Conversation> held_out;

  /// Throws DataError if no conversation of `train` fits into the context.
  InstructionData(const LanguageModel& model, const std::vector<Conversation>& train,
                  const std::vector<Conversation>& held_out, InstructionLoss loss);
};

/// Returns the mean loss of `evaluate` per id of the answers, over `batches` evenly spread batches
/// of `batch` rows, or over all rows if `batches` is 0.
double instruction_loss(Session& session, const Program& evaluate, const InstructionRows& rows,
                        std::int64_t batch, std::int64_t batches = 0);

/// Returns the greedy answers of the model to conversations that end with a question. An answer
/// ends as the format specifies or after `most_tokens` ids; white space at both ends is removed. A
/// conversation that leaves no room in the context of the model gets an empty answer. Throws
/// ArgumentError for a model without a chat format.
std::vector<std::string> instruction_answers(Session& session, const LanguageModel& model,
                                             const std::vector<Conversation>& questions,
                                             std::int64_t most_tokens = 256);

/// The last answers of conversations, and the answers of a model in their places.
struct AnsweredInstructions {
  std::vector<Conversation> questions;
  std::vector<std::string> expected, answers;

  /// Share of the answers that equal the expected ones, ignoring white space at both ends.
  double exact_match() const;
};
/// Answers `most` evenly spread conversations, or all of them if `most` is 0.
AnsweredInstructions answer_instructions(Session& session, const LanguageModel& model,
                                         const std::vector<Conversation>& conversations,
                                         std::int64_t most = 0);

/// Number of answers that a full evaluation compares with the expected ones.
inline constexpr std::int64_t kComparedAnswers = 200;

/// A training task on packed rows. Evaluations on the held-out conversations measure the loss per
/// id of the answers, its perplexity and, if they cover everything, the exact match of
/// kComparedAnswers greedy answers. Session, model and data must outlive the task.
TrainTask instruction_task(Session& session, const LanguageModel& model,
                           const InstructionData& data);

}  // namespace weft
