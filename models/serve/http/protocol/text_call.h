// Requests for generated texts in OpenAI's protocol: chat completions and completions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/chat/conversation.h"

namespace weft {

/// The form that a text must have.
struct OutputForm {
  enum class Kind : std::uint8_t { text, json_object, json_schema, regex, choices };
  Kind kind = Kind::text;
  std::string source = {};  // the schema or the regular expression
  std::vector<std::string> choices = {};

  bool operator==(const OutputForm&) const = default;
};

/// The fields that both kinds of requests share. Empty: the default of the model.
struct TextCall {
  std::string model = {};
  std::optional<double> temperature = {}, top_p = {}, min_p = {};
  std::optional<double> frequency_penalty = {}, presence_penalty = {}, repetition_penalty = {};
  std::optional<std::int64_t> top_k = {}, max_tokens = {}, min_tokens = {};
  std::optional<std::uint64_t> seed = {};
  std::map<std::int64_t, double> logit_bias = {};
  std::vector<std::string> stop = {};
  std::int64_t choices = 1;  // texts per prompt
  std::int64_t top = -1;     // TextRequest::top
  bool stream = false;
  bool stream_usage = false;  // a stream ends with token counts
  OutputForm form = {};
  std::string user = {};
  std::optional<double> timeout = {};  // seconds
};

struct Tool {
  std::string name;
  std::string parameters;  // JSON schema of the arguments
};

/// Whether a chat may or must call tools.
struct ToolChoice {
  enum class Kind : std::uint8_t { none, automatic, required, named };
  Kind kind = Kind::none;
  std::string name = {};
};

struct ChatCall : TextCall {
  Conversation messages;
  std::map<std::string, ChatVariable> variables;  // of the template, including "tools"
  std::vector<Tool> tools;
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;

  /// The text is a call of a tool.
  bool must_call() const {
    return tool_choice.kind == ToolChoice::Kind::required ||
           tool_choice.kind == ToolChoice::Kind::named;
  }
};

struct CompletionCall : TextCall {
  std::vector<std::variant<std::string, TokenIds>> prompts;
};

/// Maximum number of texts per request: prompts times choices.
inline constexpr std::int64_t kMaxTexts = 128;

/// Parse the body of a request. Throw ApiError (400) that names the field.
ChatCall read_chat_call(std::string_view body);
CompletionCall read_completion_call(std::string_view body);

/// Returns the options of choice number `choice` for a prompt of `prompt` tokens, which must be
/// shorter than `capacity`. `options` are the defaults of the model, and `random_seed` is used if
/// the request has no seed. At most `max_output` tokens are generated unless it is 0; requests for
/// more are rejected with ApiError (400).
GenerationOptions generation_options(const TextCall& call, GenerationOptions options,
                                     std::int64_t prompt, std::int64_t capacity,
                                     std::int64_t default_new, std::int64_t max_output,
                                     std::uint64_t random_seed, std::int64_t choice);

/// Returns the JSON schema of a text that must call a tool: the parameters of the only tool that
/// can be called, or {"name": ..., "arguments": ...} if there are several.
std::string tool_schema(const ChatCall& call);
/// Returns the only tool that can be called if the text must be a call, or null if there are
/// several.
const Tool* only_tool(const ChatCall& call);

}  // namespace weft
