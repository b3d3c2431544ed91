// A conversation with a language model. It keeps the messages, and reuses their cached keys and
// values from turn to turn.
//
//   const auto writer = opened.task.text_generator(session, *opened.model);
//   ChatSession chat(*writer);
//   chat.say("Who are you?", [](std::string_view part) { return show(part); });
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/chat/chat_format.h"
#include "weft/models/chat/conversation.h"
#include "weft/models/chat/marks.h"
#include "weft/models/fields/choice.h"
#include "weft/models/tasks/common/text_generator.h"

namespace WEFT_API weft {

/// Behaviour when the conversation fills the context of the model.
enum class WhenFull : std::uint8_t {
  stop,    // no further answers
  forget,  // the oldest turns are dropped; the system message is kept
};
inline constexpr std::array<std::string_view, 2> kWhenFullNames = {"stop", "forget"};
inline ChoiceNames choice_names(WhenFull) { return {"when_full", kWhenFullNames}; }

struct ChatSettings {
  std::string system = {};  // the system message; empty: none
  WhenFull when_full = WhenFull::stop;
  /// Tokens to reserve for an answer: with fewer left, the context counts as full. At most half of
  /// the context.
  std::int64_t room = 128;
  /// Modifies the model's own settings for an answer: its length, sampling.
  std::function<void(GenerationOptions&)> change = {};
  /// An answer ends after one of these texts.
  std::vector<std::string> stop = {};
};

/// The conversation fills the context, and no turns may be dropped (or dropping them is not
/// enough).
class ContextFullError : public DataError {
 public:
  using DataError::DataError;
};

/// An answer and its token counts.
struct ChatAnswer {
  WrittenText written;
  std::int64_t prompt = 0;     // tokens of the conversation before it
  std::int64_t reused = 0;     // of these, tokens with cached keys and values
  std::int64_t forgotten = 0;  // messages that were dropped to make room for it
};

/// A conversation with a model.
class ChatSession {
 public:
  /// The writer must outlive the conversation and must not be used for anything else meanwhile. An
  /// answer ends with the end-of-turn mark of `format`, or as the settings of the model specify.
  /// Throws ArgumentError for a writer that does not continue prompts; also throws the same
  /// exceptions as ChatFormat::render if there is a system message that the format does not
  /// support.
  ChatSession(TextGenerator& writer, ChatFormat format, ChatSettings settings = {});
  /// Uses the chat format of the model. Throws ArgumentError if it is unknown.
  explicit ChatSession(TextGenerator& writer, ChatSettings settings = {});

  /// Answers `message`. `on_text` receives the answer while it is generated, never half a
  /// character. If it returns false, generation stops, and the answer up to there, in whole
  /// characters, stays in the conversation. Throws ContextFullError, and the same exceptions as
  /// ChatFormat::render; the conversation is then unchanged.
  ChatAnswer say(const std::string& message,
                 const std::function<bool(std::string_view text)>& on_text = {});

  /// Drops all messages except the system message.
  void reset();
  /// Starts a new conversation with another system message (empty: none).
  void reset(const std::string& system);
  /// The messages that were not dropped.
  const Conversation& conversation() const { return conversation_; }

 private:
  TokenIds ids_of(const Conversation& conversation) const;
  bool fits(const TokenIds& prompt) const;
  /// Drops the oldest turns until the rest fits; the last message is kept. Returns the number of
  /// dropped messages.
  std::int64_t make_room(Conversation& conversation, TokenIds& prompt) const;

  TextGenerator& writer_;
  ChatFormat format_;
  ChatSettings settings_;
  Conversation conversation_;
  AnswerEnd end_;  // the mark at the end of answers
};

}  // namespace weft
