// A conversation with a language model: what was said, and keys and values of it kept from turn to
// turn.
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

/// What happens where the conversation fills the model's context.
enum class WhenFull : std::uint8_t {
  stop,    // there are no more answers
  forget,  // the oldest turns are left out; the system message stays
};
inline constexpr std::array<std::string_view, 2> kWhenFullNames = {"stop", "forget"};
inline ChoiceNames choice_names(WhenFull) { return {"when_full", kWhenFullNames}; }

struct ChatSettings {
  std::string system = {};  // the system message; empty: none
  WhenFull when_full = WhenFull::stop;
  /// Tokens that must be left for an answer: with fewer the context counts as full. At most half of
  /// the context.
  std::int64_t room = 128;
  /// Changes what the model's own settings say of an answer: its length, how ids are drawn.
  std::function<void(GenerationOptions&)> change = {};
  /// An answer ends behind one of these.
  std::vector<std::string> stop = {};
};

/// The conversation fills the context, and nothing may be forgotten (or that does not help).
class ContextFullError : public DataError {
 public:
  using DataError::DataError;
};

/// An answer, and what it took.
struct ChatAnswer {
  WrittenText written;
  std::int64_t prompt = 0;     // tokens of the conversation before it
  std::int64_t reused = 0;     // of them, those whose keys and values were there
  std::int64_t forgotten = 0;  // messages that were left out for it
};

/// A conversation with a model.
class ChatSession {
 public:
  /// The writer must outlive the conversation and be used by nobody else meanwhile. What ends a
  /// turn in `format` ends answers, beside what the model's settings say. Throws ArgumentError for
  /// a writer that does not go on from prompts, and as ChatFormat::render for a format that knows
  /// no system message, where there is one.
  ChatSession(TextGenerator& writer, ChatFormat format, ChatSettings settings = {});
  /// In the model's own format. Throws ArgumentError where that is not known.
  explicit ChatSession(TextGenerator& writer, ChatSettings settings = {});

  /// Answers `message`. `on_text` is told the answer while it is written (never half a character)
  /// and ends it by false; what there is of it then, in whole characters, stays in the
  /// conversation. Throws ContextFullError, and as ChatFormat::render; the conversation is then as
  /// it was before.
  ChatAnswer say(const std::string& message,
                 const std::function<bool(std::string_view text)>& on_text = {});

  /// Forgets everything but the system message.
  void reset();
  /// A new system message (empty: none), and a new conversation.
  void reset(const std::string& system);
  /// What was said and is not forgotten.
  const Conversation& conversation() const { return conversation_; }

 private:
  TokenIds ids_of(const Conversation& conversation) const;
  bool fits(const TokenIds& prompt) const;
  /// Leaves the oldest turns out until the rest fits; the last message stays.
  std::int64_t make_room(Conversation& conversation, TokenIds& prompt) const;

  TextGenerator& writer_;
  ChatFormat format_;
  ChatSettings settings_;
  Conversation conversation_;
  AnswerEnd end_;  // what ends a turn of the model
};

}  // namespace weft
