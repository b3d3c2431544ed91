#include "weft/models/tasks/next_token/chat_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// Returns the size of the part of `text` before `end`. Text that may be the beginning of `end` is
/// not part of it, unless the text is `complete`.
std::size_t size_before(const std::string& end, std::string_view text, bool complete) {
  if (end.empty()) return text.size();
  if (const std::size_t at = text.find(end); at != std::string::npos) return at;
  std::size_t held = complete ? 0 : std::min(text.size(), end.size() - 1);
  while (!text.ends_with(std::string_view(end).substr(0, held))) --held;
  return text.size() - held;
}

const ChatFormat& format_of(const TextGenerator& writer) {
  if (const ChatFormat* own = writer.chat_format()) return *own;
  throw ArgumentError(fmt::format("the model has no chat format: select one ({} or a template)",
                                  fmt::join(ChatFormat::built_in_names(), ", ")));
}

}  // namespace

ChatSession::ChatSession(TextGenerator& writer, ChatSettings settings)
    : ChatSession(writer, format_of(writer), std::move(settings)) {}

ChatSession::ChatSession(TextGenerator& writer, ChatFormat format, ChatSettings settings)
    : writer_(writer), format_(std::move(format)), settings_(std::move(settings)) {
  if (!writer.continues())
    throw ArgumentError("an encoder-decoder cannot hold a conversation: use a decoder");
  if (settings_.options && settings_.options->results != 1)
    throw ArgumentError(
        fmt::format("a conversation has one answer per message: results must be 1, not {}",
                    settings_.options->results));
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
  options.chat.variables = settings_.variables;
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

GenerationOptions ChatSession::default_options(const TextGenerator& writer) {
  GenerationOptions options = writer.options();
  options.beams = options.results = 1;
  options.slide = false;
  return options;
}

ChatReply ChatSession::say(const std::string& message) {
  Conversation next = conversation_;
  next.push_back({kUser, message});
  TokenIds prompt = ids_of(next);
  ChatAnswer answer;
  answer.forgotten = make_room(next, prompt);
  answer.prompt = std::ssize(prompt);
  GenerationOptions options = settings_.options ? *settings_.options : default_options(writer_);
  options.reuse_caches = rows_per_prompt(options) == 1;
  const bool spelled = end_.id < 0 && !end_.text.empty();
  if (spelled) options.stop_texts.push_back(end_.text);
  if (end_.id >= 0) options.stop_ids.push_back(end_.id);
  options = writer_.options_for(prompt, std::move(options));
  if (length_rules(options, answer.prompt).max > writer_.context()) {
    options.max_new = -1;
    options.max_length = writer_.context();
  }
  ChatReply reply(*this, std::move(next), writer_.generate_ids({prompt}, options));
  reply.answer_ = std::move(answer);
  if (spelled) reply.end_ = end_.text;
  return reply;
}

std::optional<std::string> ChatReply::next() {
  if (finished_) return std::nullopt;
  const auto piece = generation_.next();
  if (piece) {
    text_ += piece->text;
  } else {
    finish();
  }
  const std::size_t from = std::exchange(returned_, size_before(end_, text_, finished_));
  return text_.substr(from, returned_ - from);
}

ChatAnswer ChatReply::run() {
  while (next()) {
  }
  return answer_;
}

void ChatReply::finish() {
  answer_.written = generation_.run().front();
  std::string& text = answer_.written.text;
  text.resize(size_before(end_, text, true));
  if (answer_.written.finish == Finish::cancelled)
    text.resize(text.size() - unfinished_bytes(text));
  answer_.reused = chat_->writer_.reused();
  conversation_.push_back({kAssistant, repaired(text)});
  chat_->conversation_ = std::move(conversation_);
  finished_ = true;
}

}  // namespace weft
