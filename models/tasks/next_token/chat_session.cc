#include "weft/models/tasks/next_token/chat_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/text/chat/encode_chat.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

constexpr const char *kSystem = "system", *kUser = "user", *kAssistant = "assistant";

void cut_end(std::string& text, const std::string& end) {
  if (const std::size_t at = text.find(end); !end.empty() && at != std::string::npos)
    text.erase(at);
}

/// Removes the end-of-turn mark from a text that is received in parts. Text that may be the
/// beginning of the mark is buffered.
class EndMarkFilter {
 public:
  explicit EndMarkFilter(std::string end) : end_(std::move(end)) {}

  /// Adds a part and returns the text that is final now.
  std::string add(std::string_view part) {
    if (ended_) return {};
    held_ += part;
    ended_ = !end_.empty() && held_.find(end_) != std::string::npos;
    if (ended_) {
      cut_end(held_, end_);
      return std::exchange(held_, {});
    }
    std::size_t kept = std::min(held_.size(), end_.empty() ? 0 : end_.size() - 1);
    while (kept > 0 && !held_.ends_with(std::string_view(end_).substr(0, kept))) --kept;
    std::string sure = held_.substr(0, held_.size() - kept);
    held_.erase(0, sure.size());
    return sure;
  }
  /// Returns the remaining buffered text, which is not part of a mark.
  const std::string& rest() const { return held_; }

 private:
  std::string end_, held_;
  bool ended_ = false;
};

const ChatFormat& format_of(const TextGenerator& writer) {
  if (const ChatFormat* own = writer.chat_format()) return *own;
  std::string names;
  for (const std::string_view name : ChatFormat::built_in_names())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  throw ArgumentError(
      fmt::format("the model has no chat format: select one ({} or a template)", names));
}

}  // namespace

ChatSession::ChatSession(TextGenerator& writer, ChatSettings settings)
    : ChatSession(writer, format_of(writer), std::move(settings)) {}

ChatSession::ChatSession(TextGenerator& writer, ChatFormat format, ChatSettings settings)
    : writer_(writer), format_(std::move(format)), settings_(std::move(settings)) {
  if (!writer.continues())
    throw ArgumentError("an encoder-decoder cannot hold a conversation: use a decoder");
  writer_.set_cache_reuse(true);
  reset(settings_.system);
  end_ = answer_end(writer_.tokenizer(), format_);
}

void ChatSession::reset() { reset(settings_.system); }

void ChatSession::reset(const std::string& system) {
  settings_.system = system;
  conversation_.clear();
  if (!system.empty()) conversation_.push_back({kSystem, system});
}

TokenIds ChatSession::ids_of(const Conversation& conversation) const {
  EncodeChatOptions options;
  options.chat.add_generation_prompt = true;
  const EncodedChat encoded = encode_chat(writer_.tokenizer(), format_, conversation, options);
  return {encoded.ids.begin(), encoded.ids.end()};
}

bool ChatSession::fits(const TokenIds& prompt) const {
  const std::int64_t room = std::min(settings_.room, writer_.context() / 2);
  return std::ssize(prompt) <= writer_.context() - std::max<std::int64_t>(room, 1);
}

std::int64_t ChatSession::make_room(Conversation& conversation, TokenIds& prompt) const {
  const std::ptrdiff_t first = settings_.system.empty() ? 0 : 1;
  std::int64_t forgotten = 0;
  while (!fits(prompt) && settings_.when_full == WhenFull::forget &&
         std::ssize(conversation) > first + 1) {
    // Drop a question together with its answer, because chat formats require alternating turns.
    const std::ptrdiff_t gone = std::min<std::ptrdiff_t>(2, std::ssize(conversation) - first - 1);
    conversation.erase(conversation.begin() + first, conversation.begin() + first + gone);
    forgotten += gone;
    prompt = ids_of(conversation);
  }
  if (fits(prompt)) return forgotten;
  throw ContextFullError(
      fmt::format("the context is full: the conversation has {} tokens, but the model accepts at "
                  "most {}, including the answer{}",
                  prompt.size(), writer_.context(),
                  settings_.when_full == WhenFull::forget
                      ? " (all turns that may be dropped were already dropped)"
                      : " (allow dropping the oldest turns, or start a new conversation)"));
}

ChatAnswer ChatSession::say(const std::string& message,
                            const std::function<bool(std::string_view text)>& on_text) {
  Conversation next = conversation_;
  next.push_back({kUser, message});
  TokenIds prompt = ids_of(next);
  ChatAnswer answer;
  answer.forgotten = make_room(next, prompt);
  answer.prompt = std::ssize(prompt);
  WriteOptions options{.stop = settings_.stop};
  const std::string spelled = end_.id < 0 ? end_.text : "";
  if (!spelled.empty()) options.stop.push_back(spelled);
  options.change = [&](GenerationOptions& o) {
    o.beams = o.results = 1;
    o.slide = false;  // a sliding window would split messages
    if (settings_.change) settings_.change(o);
    if (end_.id >= 0) o.stop_ids.push_back(end_.id);
    if (length_rules(o, std::ssize(prompt)).max > writer_.context()) {
      o.max_new = -1;
      o.max_length = writer_.context();
    }
  };
  EndMarkFilter end_filter(spelled);
  OnText listen;
  if (on_text) {
    listen = [&](std::size_t, std::string_view text) { return on_text(end_filter.add(text)); };
  }
  answer.written = writer_.write_ids({prompt}, options, listen).front();
  if (on_text && !end_filter.rest().empty()) on_text(end_filter.rest());
  cut_end(answer.written.text, spelled);
  answer.reused = writer_.reused();
  std::string& text = answer.written.text;
  if (answer.written.finish == Finish::cancelled) text.resize(text.size() - unfinished_bytes(text));
  next.push_back({kAssistant, repaired(text)});
  conversation_ = std::move(next);
  return answer;
}

}  // namespace weft
