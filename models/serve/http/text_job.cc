#include "weft/models/serve/http/text_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <random>
#include <utility>

#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

std::string random_id() {
  static thread_local std::random_device device;
  std::string id;
  for (int i = 0; i < 3; ++i) id += fmt::format("{:08x}", device());
  return id;
}

/// All members are used on the thread of the server only, except for start().
class TextJob : public std::enable_shared_from_this<TextJob> {
 public:
  TextJob(std::shared_ptr<Exchange> exchange, TextPlan plan)
      : exchange_(std::move(exchange)),
        plan_(std::move(plan)),
        head_{.chat = plan_.chat,
              .id = (plan_.chat ? "chatcmpl-" : "cmpl-") + random_id(),
              .model = plan_.model.name,
              .created = std::chrono::duration_cast<std::chrono::seconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count()},
        choices_(plan_.requests.size()) {
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      choices_[i].reply.index = static_cast<std::int64_t>(i);
      choices_[i].reply.scored = plan_.requests[i].top >= 0;
    }
  }

  void start() {
    TextEngine& engine = plan_.model.entry->engine();
    std::vector<std::int64_t> numbers;
    try {
      for (std::size_t i = 0; i < plan_.requests.size(); ++i) {
        numbers.push_back(
            engine.submit(plan_.requests[i], [self = shared_from_this(), i](TextDelta delta) {
              self->exchange_->post([self, i, delta = std::move(delta)]() mutable {
                self->on_delta(i, std::move(delta));
              });
            }));
      }
    } catch (...) {
      for (const std::int64_t number : numbers) engine.cancel(number);
      exchange_->post([self = shared_from_this()] { self->ended_ = true; });
      throw;
    }
    exchange_->post(
        [self = shared_from_this(), numbers = std::move(numbers)] { self->accept(numbers); });
  }

 private:
  struct Choice {
    ReplyChoice reply;
    ToolCallParser parser;
    std::int64_t prompt = 0, cached = 0, completion = 0;
    std::int64_t calls = 0;        // that were found
    std::int64_t code_points = 0;  // of the tokens that were sent
  };

  /// Called when the engine has accepted all requests. Processes the deltas that arrived before.
  void accept(const std::vector<std::int64_t>& numbers) {
    numbers_ = numbers;
    exchange_->entry.model = plan_.model.name;
    exchange_->on_cancel([self = shared_from_this()] { self->cancel(); });
    accepted_ = true;
    for (auto& [i, delta] : std::exchange(early_, {})) on_delta(i, std::move(delta));
  }

  void cancel() {
    for (const std::int64_t number : numbers_) plan_.model.entry->engine().cancel(number);
  }

  void on_delta(std::size_t i, TextDelta delta) {
    if (ended_ || exchange_->is_over()) return;
    if (!accepted_) {
      early_.emplace_back(i, std::move(delta));
      return;
    }
    Choice& choice = choices_[i];
    if (delta.error) return fail(delta.error);
    if (delta.finish == Finish::cancelled && (exchange_->is_stopped() || delta.new_tokens == 0)) {
      return fail(std::make_exception_ptr(
          ApiError(504, "the text was not generated within the time of the request", "timeout")));
    }
    exchange_->entry.prompt_tokens += delta.prompt_tokens - choice.prompt;
    exchange_->entry.new_tokens += delta.new_tokens - choice.completion;
    choice.prompt = delta.prompt_tokens;
    choice.cached = delta.cached_tokens;
    choice.completion = delta.new_tokens;
    add_text(choice, delta);
    add_tokens(choice, delta);
    if (delta.finish) end_choice(choice, *delta.finish);
    if (plan_.stream) send_chunk(choice);
    if (delta.is_last() && ++ended_choices_ == choices_.size()) finish();
  }

  void add_text(Choice& choice, const TextDelta& delta) {
    if (!plan_.called_tool.empty()) {
      auto& calls = choice.reply.calls;
      if (choice.calls == 0) {
        choice.calls = 1;
        calls.push_back({plan_.called_tool, {}});
      }
      if (calls.empty() && !delta.text.empty()) calls.push_back({});  // continues the call
      if (!calls.empty()) calls.front().arguments += delta.text;
      return;
    }
    if (!plan_.finds_calls) {
      choice.reply.text += delta.text;
      return;
    }
    add_part(choice, choice.parser.add(delta.text));
    if (delta.finish) add_part(choice, choice.parser.finish());
  }

  void add_part(Choice& choice, AnswerPart part) {
    choice.reply.text += part.content;
    for (ToolCall& call : part.calls) {
      if (plan_.single_call && choice.calls > 0) break;
      choice.reply.calls.push_back(std::move(call));
      ++choice.calls;
    }
  }

  void add_tokens(Choice& choice, const TextDelta& delta) {
    if (!choice.reply.scored) return;
    const ModelEntry& model = *plan_.model.entry;
    for (const NewToken& token : delta.tokens) {
      ReplyToken reply{model.token_bytes(token.token.id), token.token.log_probability};
      for (const ScoredToken& other : token.top)
        reply.top.emplace_back(model.token_bytes(other.id), other.log_probability);
      choice.reply.tokens.push_back(std::move(reply));
    }
  }

  void end_choice(Choice& choice, Finish finish) {
    if (finish == Finish::length || finish == Finish::cancelled) {
      choice.reply.finish = "length";
    } else {
      choice.reply.finish = choice.calls > 0 ? "tool_calls" : "stop";
    }
  }

  void send_chunk(Choice& choice) {
    ReplyChoice& reply = choice.reply;
    if (!exchange_->is_stream()) {
      exchange_->start_stream();
      if (plan_.chat) {  // the roles are known before the first token
        for (Choice& one : choices_) {
          const ReplyChoice role{.index = one.reply.index};
          send(text_chunk(head_, role, true, plan_.stream_usage));
        }
      }
    }
    if (reply.text.empty() && reply.calls.empty() && reply.tokens.empty() && !reply.finish) return;
    reply.text_offset = choice.code_points;
    const bool ends_chat = plan_.chat && reply.finish.has_value();
    const auto finish = reply.finish;
    if (ends_chat) reply.finish.reset();
    if (!ends_chat || !reply.text.empty() || !reply.calls.empty() || !reply.tokens.empty())
      send(text_chunk(head_, reply, false, plan_.stream_usage));
    if (ends_chat) {  // clients expect the reason in a separate chunk
      const ReplyChoice last{.index = reply.index, .finish = finish};
      send(text_chunk(head_, last, false, plan_.stream_usage));
    }
    for (const ReplyToken& token : reply.tokens)
      choice.code_points += code_points(repaired(token.bytes));
    reply.text.clear();
    reply.tokens.clear();
    if (plan_.called_tool.empty()) reply.first_call += std::ssize(reply.calls);
    reply.calls.clear();
  }

  void send(const std::string& chunk) { exchange_->write(sse_event(chunk)); }

  ReplyUsage usage() const {
    ReplyUsage usage;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      usage.completion += choices_[i].completion;
      if (static_cast<std::int64_t>(i) % plan_.choices_per_prompt != 0) continue;
      usage.prompt += choices_[i].prompt;
      usage.cached += choices_[i].cached;
    }
    return usage;
  }

  void finish() {
    ended_ = true;
    const ReplyUsage used = usage();
    if (plan_.stream) {
      if (plan_.stream_usage) send(usage_chunk(head_, used));
      send("[DONE]");
      exchange_->end_stream();
      return;
    }
    std::vector<ReplyChoice> replies;
    for (Choice& choice : choices_) replies.push_back(std::move(choice.reply));
    exchange_->reply({200, text_reply(head_, replies, used)});
  }

  void fail(const std::exception_ptr& error) {
    ended_ = true;
    cancel();
    exchange_->fail(error, true);
  }

  const std::shared_ptr<Exchange> exchange_;
  const TextPlan plan_;
  const ReplyHead head_;
  std::vector<Choice> choices_;
  std::vector<std::int64_t> numbers_;                     // of the engine
  std::vector<std::pair<std::size_t, TextDelta>> early_;  // before accept()
  std::size_t ended_choices_ = 0;
  bool accepted_ = false, ended_ = false;
};

}  // namespace

void start_texts(const std::shared_ptr<Exchange>& exchange, TextPlan plan) {
  std::make_shared<TextJob>(exchange, std::move(plan))->start();
}

}  // namespace weft
