// A conversation with a language model. The session stores the messages, and reuses their cached
// keys and values from turn to turn.
//
//   const auto writer = text_generator(session, *opened.model);
//   ChatSession chat(*writer);
//   for (std::string_view text : chat.say("Who are you?")) std::cout << text;
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
  /// Variables of the template: "enable_thinking", "tools", ...
  std::map<std::string, ChatVariable> variables = {};
  WhenFull when_full = WhenFull::stop;
  /// Number of tokens reserved for an answer, limited to half of the context. If fewer tokens are
  /// left, the context is treated as full.
  std::int64_t room = 128;
  /// Options of an answer, for example ChatSession::default_options() with another length.
  /// `results` must be 1. Empty: these default options.
  std::optional<GenerationOptions> options = {};
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

class ChatSession;

/// An answer that is being generated (ChatSession::say). When it has ended, the question and the
/// answer are added to the conversation:
///
///   for (std::string_view text : chat.say("Hello")) std::cout << text;
class ChatReply {
 public:
  /// Returns the next part of the answer, or nothing at its end. Parts may be empty. They consist
  /// of whole characters, but the answer may end with an incomplete one. If an exception is thrown,
  /// the conversation does not change.
  std::optional<std::string> next();
  /// Ends the answer. The text up to this point, truncated to whole characters, is the answer.
  void stop() { generation_.stop(0); }
  /// Generates the rest of the answer and returns the whole answer.
  ChatAnswer run();

  PieceIterator<ChatReply> begin() { return PieceIterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class ChatSession;
  ChatReply(ChatSession& chat, Conversation conversation, TextGeneration generation)
      : chat_(&chat), conversation_(std::move(conversation)), generation_(std::move(generation)) {}

  void finish();

  ChatSession* chat_;
  Conversation conversation_;  // with the question
  TextGeneration generation_;
  std::string end_ = {};      // text that ends the answer, such as "</s>"; may be empty
  std::string text_ = {};     // generated text
  std::size_t returned_ = 0;  // size of the part of text_ that next() has returned
  ChatAnswer answer_;
  bool finished_ = false;
};

/// A conversation with a model.
class ChatSession {
 public:
  /// The writer must outlive the conversation and must not be used for anything else during that
  /// time. An answer ends with the end-of-turn mark of `format`, or as specified by the model's
  /// settings. Throws ArgumentError if the writer does not continue prompts or if
  /// `settings.options` has several results. Throws the same exceptions as ChatFormat::render if
  /// the format does not support a system message and one is given.
  ChatSession(TextGenerator& writer, ChatFormat format, ChatSettings settings = {});
  /// Uses the model's chat format. Throws ArgumentError if the format is unknown.
  explicit ChatSession(TextGenerator& writer, ChatSettings settings = {});

  /// Returns the model's default options for answers: a single row without a sliding window, which
  /// would split messages.
  static GenerationOptions default_options(const TextGenerator& writer);

  /// Answers `message`. The session must outlive the reply and must not be changed before it has
  /// ended. Throws ContextFullError. Also throws the same exceptions as ChatFormat::render. If an
  /// exception is thrown, the conversation does not change.
  ChatReply say(const std::string& message);

  /// Drops all messages except the system message.
  void reset();
  /// Starts a new conversation with a new system message (empty: none).
  void reset(const std::string& system);
  /// Returns the messages that were not dropped.
  const Conversation& conversation() const { return conversation_; }

 private:
  friend class ChatReply;
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
