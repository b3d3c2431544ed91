#include "weft/models/serve/http/protocol/text_reply.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/version.h"
#include "weft/models/serve/http/protocol/json_fields.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

Json head_json(const ReplyHead& head, bool chunk) {
  const char* object =
      head.chat ? (chunk ? "chat.completion.chunk" : "chat.completion") : "text_completion";
  return {{"id", head.id},
          {"object", object},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", "weft-" + std::string(version())}};
}

Json usage_json(const ReplyUsage& usage) {
  return {{"prompt_tokens", usage.prompt},
          {"completion_tokens", usage.completion},
          {"total_tokens", usage.prompt + usage.completion},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached}}}};
}

/// A log-probability of -infinity has no JSON form; OpenAI uses -9999 for very unlikely tokens.
double finite(double log_probability) { return std::max(log_probability, -9999.0); }

Json chat_token(const std::string& bytes, double log_probability) {
  Json numbers = Json::array();
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return {{"token", repaired(bytes)},
          {"logprob", finite(log_probability)},
          {"bytes", std::move(numbers)}};
}

Json chat_logprobs(const ReplyChoice& choice) {
  if (!choice.scored) return nullptr;
  Json content = Json::array();
  for (const ReplyToken& token : choice.tokens) {
    Json entry = chat_token(token.bytes, token.log_probability);
    entry["top_logprobs"] = Json::array();
    for (const auto& [bytes, log_probability] : token.top)
      entry["top_logprobs"].push_back(chat_token(bytes, log_probability));
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

/// The form of the legacy completions, with the text of tokens as keys.
Json completion_logprobs(const ReplyChoice& choice) {
  if (!choice.scored) return nullptr;
  Json tokens = Json::array(), scores = Json::array(), top = Json::array(), offsets = Json::array();
  std::int64_t offset = choice.text_offset;
  for (const ReplyToken& token : choice.tokens) {
    const std::string text = repaired(token.bytes);
    tokens.push_back(text);
    scores.push_back(finite(token.log_probability));
    Json alternatives = Json::object();
    for (const auto& [bytes, log_probability] : token.top)
      alternatives[repaired(bytes)] = finite(log_probability);
    top.push_back(std::move(alternatives));
    offsets.push_back(offset);
    offset += code_points(text);
  }
  return {{"tokens", std::move(tokens)},
          {"token_logprobs", std::move(scores)},
          {"top_logprobs", std::move(top)},
          {"text_offset", std::move(offsets)}};
}

Json calls_json(const ReplyHead& head, const ReplyChoice& choice, bool chunk) {
  Json calls = Json::array();
  for (std::size_t i = 0; i < choice.calls.size(); ++i) {
    const std::int64_t number = choice.first_call + static_cast<std::int64_t>(i);
    Json call = Json::object();
    if (chunk) call["index"] = number;
    if (choice.calls[i].name.empty()) {
      call["function"] = {{"arguments", choice.calls[i].arguments}};
      calls.push_back(std::move(call));
      continue;
    }
    call["id"] =
        fmt::format("call_{}_{}_{}", head.id.substr(head.id.find('-') + 1), choice.index, number);
    call["type"] = "function";
    call["function"] = {{"name", choice.calls[i].name}, {"arguments", choice.calls[i].arguments}};
    calls.push_back(std::move(call));
  }
  return calls;
}

Json finish_json(const ReplyChoice& choice) {
  return choice.finish ? Json(*choice.finish) : Json();
}

}  // namespace

std::string text_reply(const ReplyHead& head, const std::vector<ReplyChoice>& choices,
                       const ReplyUsage& usage) {
  Json reply = head_json(head, false);
  reply["choices"] = Json::array();
  for (const ReplyChoice& choice : choices) {
    Json entry = {{"index", choice.index}};
    if (head.chat) {
      Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
      if (!choice.calls.empty()) {
        if (choice.text.empty()) message["content"] = nullptr;
        message["tool_calls"] = calls_json(head, choice, false);
      }
      entry["message"] = std::move(message);
    } else {
      entry["text"] = choice.text;
    }
    entry["logprobs"] = head.chat ? chat_logprobs(choice) : completion_logprobs(choice);
    entry["finish_reason"] = finish_json(choice);
    reply["choices"].push_back(std::move(entry));
  }
  reply["usage"] = usage_json(usage);
  return json_text(reply);
}

std::string text_chunk(const ReplyHead& head, const ReplyChoice& choice, bool first,
                       bool null_usage) {
  Json entry = {{"index", choice.index}};
  if (head.chat) {
    Json delta = Json::object();
    if (first) delta["role"] = "assistant";
    if (first || !choice.text.empty()) delta["content"] = choice.text;
    if (!choice.calls.empty()) delta["tool_calls"] = calls_json(head, choice, true);
    entry["delta"] = std::move(delta);
  } else {
    entry["text"] = choice.text;
  }
  if (!head.chat) {
    entry["logprobs"] = completion_logprobs(choice);
  } else {
    entry["logprobs"] = choice.tokens.empty() ? Json() : chat_logprobs(choice);
  }
  entry["finish_reason"] = finish_json(choice);
  Json chunk = head_json(head, true);
  chunk["choices"] = Json::array({std::move(entry)});
  if (null_usage) chunk["usage"] = nullptr;
  return json_text(chunk);
}

std::string usage_chunk(const ReplyHead& head, const ReplyUsage& usage) {
  Json chunk = head_json(head, true);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage_json(usage);
  return json_text(chunk);
}

std::string sse_event(std::string_view data) { return fmt::format("data: {}\n\n", data); }

std::int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace weft
