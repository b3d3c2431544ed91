// POST /v1/chat/completions and POST /v1/completions.
#include <fmt/format.h>

#include <limits>
#include <random>
#include <variant>

#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/serve/http/protocol/text_call.h"
#include "weft/models/serve/http/routes.h"
#include "weft/models/serve/http/text_job.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/text/chat/encode_chat.h"

namespace weft {
namespace {

constexpr std::int64_t kLegacyTokens = 16;  // default of OpenAI's completions

std::uint64_t random_seed() {
  static thread_local std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// Adds the requests for one prompt, one per choice, to `plan`.
void add_prompt(TextPlan& plan, const TextCall& call, const TokenIds& prompt,
                const GenerationOptions& defaults, std::int64_t default_new,
                const HttpServerOptions& server, const std::string& client) {
  const std::int64_t capacity = plan.model.entry->engine().options().capacity;
  const std::int64_t length = std::ssize(prompt);
  if (length == 0) throw ApiError(400, "the prompt has no tokens", "invalid_value", "prompt");
  if (length >= capacity) {
    throw ApiError(400,
                   fmt::format("the prompt has {} tokens, but the context of the model has {}, "
                               "including the new text: shorten the prompt",
                               length, capacity),
                   "context_length_exceeded", plan.chat ? "messages" : "prompt");
  }
  const std::uint64_t seed = random_seed();
  for (std::int64_t choice = 0; choice < call.choices; ++choice) {
    TextRequest request{.prompt = prompt};
    request.options = generation_options(call, defaults, length, capacity, default_new,
                                         server.max_output, seed, choice);
    request.options.constraint = plan.model.entry->constraint(call.form);
    request.top = call.top;
    request.adapter = plan.model.adapter;
    request.client = call.user.empty() ? client : call.user;
    request.deadline = deadline_of(server, call.timeout);
    plan.requests.push_back(std::move(request));
  }
}

TextPlan plan_of(const ChosenModel& model, const TextCall& call, bool chat) {
  TextPlan plan;
  plan.model = model;
  plan.choices_per_prompt = call.choices;
  plan.chat = chat;
  plan.stream = call.stream;
  plan.stream_usage = call.stream_usage;
  return plan;
}

}  // namespace

void Routes::chat(const std::shared_ptr<Exchange>& exchange) {
  ChatCall call = read_chat_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  const ChatFormat& format = model.entry->chat_format();
  const bool may_call = call.tool_choice.kind != ToolChoice::Kind::none;
  if (may_call && !call.must_call() && format.source().find("tools") == std::string::npos) {
    throw ApiError(400,
                   fmt::format("the chat template of the model '{}' does not support tools: set "
                               "'tool_choice' to required or to the name of a tool",
                               model.name),
                   "unsupported_value", "tools");
  }
  EncodeChatOptions options;
  options.chat.add_generation_prompt = true;
  options.chat.variables = call.variables;
  const EncodedChat encoded = encode_chat(model.entry->tokenizer(), format, call.messages, options);

  TextPlan plan = plan_of(model, call, true);
  if (call.must_call()) {
    call.form = {OutputForm::Kind::json_schema, tool_schema(call)};
    if (const Tool* tool = only_tool(call)) plan.called_tool = tool->name;
  }
  plan.finds_calls = may_call && plan.called_tool.empty();
  plan.single_call = !call.parallel_tool_calls;
  constexpr std::int64_t kWholeContext = std::numeric_limits<std::int64_t>::max();
  add_prompt(plan, call, {encoded.ids.begin(), encoded.ids.end()}, model.entry->answer_options(),
             kWholeContext, options_, exchange->request().client);
  start_texts(exchange, std::move(plan));
}

void Routes::complete(const std::shared_ptr<Exchange>& exchange) {
  const CompletionCall call = read_completion_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  TextPlan plan = plan_of(model, call, false);
  model.entry->engine();  // throws if the model does not continue texts
  for (const auto& prompt : call.prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    add_prompt(plan, call,
               text == nullptr ? std::get<TokenIds>(prompt)
                               : model.entry->model().generator()->read(*text),
               model.entry->text_options(), kLegacyTokens, options_, exchange->request().client);
  }
  start_texts(exchange, std::move(plan));
}

}  // namespace weft
