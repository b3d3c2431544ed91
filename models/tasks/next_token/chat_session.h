// A conversation with a language model. The session stores the messages, and reuses their cached
// keys and values from turn to turn.
//
//   const auto writer = text_generator(session, *opened.model);
//   ChatSession chat(*writer);
//   chat.say("Who are you?", [](std::string_view part) { return show(part); });
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/choice.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/chat/conversation.h"
#include "weft/models/text/chat/marks.h"

namespace WEFT_API weft {

/// What to do when the conversation fills the model's context.
enum class WhenFull : std::uint8_t {
  stop,    // stop answering
  forget,  // the oldest turns are dropped; the system message is kept
};
inline constexpr std::array<std::string_view, 2> kWhenFullNames = {"stop", "forget"};
inline ChoiceNames choice_names(WhenFull) { return {"when_full", kWhenFullNames}; }

struct ChatSettings {
  std::string system = {};  // the system message; empty: none
  WhenFull when_full = WhenFull::stop;
  /// Number of tokens reserved for an answer, limited to half of the context. If fewer tokens are
  /// left, the context is treated as full.
  std::int64_t room = 128;
  /// Modifies the model's default options for an answer, for example the length or sampling.
  std::function<void(GenerationOptions&)> change = {};
  /// An answer ends after any of these texts.
  std::vector<std::string> stop = {};
};

/// Thrown if the conversation fills the context and no turns may be dropped, or if dropping turns
/// is not sufficient.
class ContextFullError : public DataError {
 public:
  using DataError::DataError;
};

/// An answer and its token counts.
struct ChatAnswer {
  WrittenText written;
  std::int64_t prompt = 0;     // number of tokens in the conversation before the answer
  std::int64_t reused = 0;     // number of these tokens with reused keys and values
  std::int64_t forgotten = 0;  // number of messages dropped to make room for the answer
};

/// A conversation with a model.
class ChatSession {
 public:
  /// The writer must outlive the conversation and must not be used for anything else during that
  /// time. An answer ends with the end-of-turn mark of `format`, or as specified by the model's
  /// settings. Throws ArgumentError if the writer does not continue prompts. Throws the same
  /// exceptions as ChatFormat::render if the format does not support a system message and one is
  /// given.
  ChatSession(TextGenerator& writer, ChatFormat format, ChatSettings settings = {});
  /// Uses the model's chat format. Throws ArgumentError if the format is unknown.
  explicit ChatSession(TextGenerator& writer, ChatSettings settings = {});

  /// Answers `message`. `on_text` is called with parts of the answer while it is generated; parts
  /// always consist of whole characters. If it returns false, generation stops, and the answer up
  /// to this point, truncated to whole characters, is kept in the conversation. Throws
  /// ContextFullError. Also throws the same exceptions as ChatFormat::render. If an exception is
  /// thrown, the conversation does not change.
  ChatAnswer say(const std::string& message,
                 const std::function<bool(std::string_view text)>& on_text = {});

  /// Drops all messages except the system message.
  void reset();
  /// Starts a new conversation with a new system message (empty: none).
  void reset(const std::string& system);
  /// Returns the messages that were not dropped.
  const Conversation& conversation() const { return conversation_; }

 private:
  TokenIds ids_of(const Conversation& conversation) const;
  bool fits(const TokenIds& prompt) const;
  /// Drops the oldest turns until the rest fits into the context. The last message is always kept.
  /// Returns the number of dropped messages.
  std::int64_t make_room(Conversation& conversation, TokenIds& prompt) const;

  TextGenerator& writer_;
  ChatFormat format_;
  ChatSettings settings_;
  Conversation conversation_;
  AnswerEnd end_;  // end-of-turn mark of answers
};

}  // namespace weft
