// Instruction tuning: trains a language model to follow instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/tasks/next_token/instruction_rows.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/text/chat/conversation.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Builds a language model for the task "instructions". The model is not yet trainable. It stores
/// its chat format, and generated answers end with the end-of-turn mark of the format. "train" and
/// "evaluate" have the inputs of InstructionBatch, and their loss is the mean over the counted
/// targets. The tokenizer is not changed: marks of the format without a token id (such as ChatML's
/// "<|im_end|>" with the GPT-2 tokenizer) are encoded as text, which also works with frozen
/// embeddings. Throws the same exceptions as build_language_model.
LanguageModel build_instructed_model(const GptConfig& config, const Tokenizer& tokenizer,
                                     const ChatFormat& format, const TrainSettings& settings);

/// The training and validation data for a model.
struct InstructionData {
  InstructionRows train, validation;
  /// The validation conversations, including those that were dropped from the rows of `validation`.
  std::vector<Conversation> held_out;

  /// Throws DataError if no conversation in `train` fits into the context.
  InstructionData(const LanguageModel& model, const std::vector<Conversation>& train,
                  const std::vector<Conversation>& held_out, InstructionLoss loss);
};

/// Runs `evaluate` and returns the mean loss per answer id, over `batches` evenly spaced batches of
/// `batch` rows, or over all rows if `batches` is 0.
double instruction_loss(Session& session, const Program& evaluate, const InstructionRows& rows,
                        std::int64_t batch, std::int64_t batches = 0);

/// Returns the model's greedy answers to conversations that end with a question. An answer ends as
/// specified by the chat format, or after `most_tokens` ids; white space at both ends is removed.
/// If a conversation leaves no room in the model's context, the answer is empty. Throws
/// ArgumentError if the model has no chat format.
std::vector<std::string> instruction_answers(Session& session, const LanguageModel& model,
                                             const std::vector<Conversation>& questions,
                                             std::int64_t most_tokens = 256);

/// Conversations without their last answers, the expected last answers, and the model's answers.
struct AnsweredInstructions {
  std::vector<Conversation> questions;
  std::vector<std::string> expected, answers;

  /// Returns the fraction of answers that equal the expected answers, ignoring white space at both
  /// ends.
  double exact_match() const;
};
/// Answers `most` evenly spaced conversations, or all conversations if `most` is 0.
AnsweredInstructions answer_instructions(Session& session, const LanguageModel& model,
                                         const std::vector<Conversation>& conversations,
                                         std::int64_t most = 0);

/// Number of answers that a full evaluation compares with the expected ones.
inline constexpr std::int64_t kComparedAnswers = 200;

/// Returns a training task for packed rows. Evaluations on the held-out conversations measure the
/// loss per answer id and the perplexity. Full evaluations also measure the exact match of
/// kComparedAnswers greedy answers. The session, the model and the data must outlive the task.
TrainTask instruction_task(Session& session, const LanguageModel& model,
                           const InstructionData& data);

}  // namespace weft
