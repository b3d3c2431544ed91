#include "weft/models/serve/http/protocol/text_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/excerpt.h"
#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/serve/http/protocol/json_fields.h"
#include "weft/models/serve/http/protocol/read_fields.h"

namespace weft {
namespace {

constexpr std::int64_t kMany = std::numeric_limits<std::int32_t>::max();

void read_logit_bias(Fields& fields, TextCall& call) {
  const Json* bias = fields.find("logit_bias");
  if (bias == nullptr) return;
  const std::string wanted =
      "an object whose keys are token ids and whose values are in [-100, 100]";
  if (!bias->is_object()) fields.fail("logit_bias", wanted);
  for (const auto& [key, value] : bias->items()) {
    const bool is_id =
        !key.empty() && key.size() <= 9 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!is_id || !value.is_number() || !(std::abs(value.get<double>()) <= 100))
      fields.fail("logit_bias", wanted);
    call.logit_bias[std::stoll(key)] = value.get<double>();
  }
}

void read_stream(Fields& fields, TextCall& call) {
  call.stream = fields.flag("stream").value_or(false);
  const Json* found = fields.find("stream_options");
  if (found == nullptr) return;
  if (!call.stream) {
    throw ApiError(400, "'stream_options' needs 'stream': true", "invalid_value", "stream_options");
  }
  Fields options(*found, "stream_options.");
  call.stream_usage = options.flag("include_usage").value_or(false);
  options.ignore({"include_obfuscation"});
  options.end();
}

void set_form(TextCall& call, const std::string& field, OutputForm form) {
  if (call.form.kind != OutputForm::Kind::text) {
    throw ApiError(400, fmt::format("'{}' is a second form of the text: give only one", field),
                   "invalid_value", field);
  }
  call.form = std::move(form);
}

void read_response_format(Fields& fields, TextCall& call) {
  const Json* found = fields.find("response_format");
  if (found == nullptr) return;
  Fields format(*found, "response_format.");
  const std::string type = format.text("type").value_or("");
  if (type == "json_object") {
    set_form(call, "response_format", {OutputForm::Kind::json_object});
  } else if (type == "json_schema") {
    Fields schema(format.require("json_schema"), "response_format.json_schema.");
    schema.require("name");
    schema.require("schema");
    set_form(call, "response_format",
             {OutputForm::Kind::json_schema, *schema.object_text("schema")});
    schema.ignore({"description", "strict"});  // every schema is enforced
    schema.end();
  } else if (type != "text") {
    format.fail("type", "text, json_object or json_schema");
  }
  format.end();
}

/// The extensions of vLLM: guided_regex, guided_choice, guided_json, and structured_outputs.
void read_guided(Fields& fields, TextCall& call) {
  const auto read = [&call](Fields& from, const std::string& prefix) {
    if (auto regex = from.text(prefix + "regex"))
      set_form(call, from.place(prefix + "regex"), {OutputForm::Kind::regex, std::move(*regex)});
    if (auto choices = from.texts(prefix + "choice"); !choices.empty())
      set_form(call, from.place(prefix + "choice"),
               {OutputForm::Kind::choices, {}, std::move(choices)});
    if (const Json* schema = from.find(prefix + "json")) {
      set_form(call, from.place(prefix + "json"),
               {OutputForm::Kind::json_schema,
                schema->is_string() ? schema->get<std::string>() : json_text(*schema)});
    }
  };
  read(fields, "guided_");
  if (const Json* found = fields.find("structured_outputs")) {
    Fields outputs(*found, "structured_outputs.");
    read(outputs, "");
    outputs.end();
  }
}

/// Reads the fields that chats and completions have in common.
void read_common(Fields& fields, TextCall& call) {
  call.model = fields.text("model").value_or("");
  call.temperature = fields.number("temperature", 0, 100);
  call.top_p = fields.number("top_p", 0, 1);
  call.min_p = fields.number("min_p", 0, 1);
  call.top_k = fields.integer("top_k", -1, kMany);
  call.frequency_penalty = fields.number("frequency_penalty", -2, 2);
  call.presence_penalty = fields.number("presence_penalty", -2, 2);
  call.repetition_penalty = fields.number("repetition_penalty", 0.01, 100);
  call.max_tokens = fields.integer("max_tokens", 1, kMany);
  call.min_tokens = fields.integer("min_tokens", 0, kMany);
  if (const auto seed = fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()))
    call.seed = static_cast<std::uint64_t>(*seed);
  call.stop = fields.texts("stop");
  if (std::find(call.stop.begin(), call.stop.end(), "") != call.stop.end())
    fields.fail("stop", "texts that are not empty");
  call.choices = fields.integer("n", 1, kMaxTexts).value_or(1);
  call.user = fields.text("user").value_or("");
  call.timeout = fields.number("timeout", 0.001, 1e6);
  read_logit_bias(fields, call);
  read_stream(fields, call);
  read_response_format(fields, call);
  read_guided(fields, call);
  fields.ignore({"metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"});
  fields.only("store", {false});
  fields.only("service_tier", {"auto", "default"});
}

bool is_tool_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
         });
}

void read_tool_choice(Fields& fields, ChatCall& call) {
  const Json* choice = fields.find("tool_choice");
  call.tool_choice.kind = call.tools.empty() ? ToolChoice::Kind::none : ToolChoice::Kind::automatic;
  if (choice == nullptr) return;
  if (choice->is_object()) {
    Fields named(*choice, "tool_choice.");
    Fields function(named.require("function"), "tool_choice.function.");
    function.require("name");
    call.tool_choice = {ToolChoice::Kind::named, *function.text("name")};
    const auto is_named = [&](const Tool& tool) { return tool.name == call.tool_choice.name; };
    if (std::none_of(call.tools.begin(), call.tools.end(), is_named))
      function.fail("name", "the name of one of the tools");
    return;
  }
  if (*choice == "none") {
    call.tool_choice.kind = ToolChoice::Kind::none;
  } else if (*choice == "required") {
    if (call.tools.empty())
      throw ApiError(400, "'tool_choice' is required, but there are no tools", "invalid_value",
                     "tool_choice");
    call.tool_choice.kind = ToolChoice::Kind::required;
  } else if (*choice != "auto") {
    fields.fail("tool_choice", "none, auto, required or the name of a tool");
  }
}

void read_tools(Fields& fields, ChatCall& call) {
  if (const Json* tools = fields.find("tools")) {
    if (!tools->is_array()) fields.fail("tools", "a list of tools");
    for (std::size_t i = 0; i < tools->size(); ++i) {
      Fields tool((*tools)[i], fmt::format("tools[{}].", i));
      tool.only("type", {"function"});
      Fields function(tool.require("function"), fmt::format("tools[{}].function.", i));
      function.require("name");
      const std::string name = *function.text("name");
      if (!is_tool_name(name)) function.fail("name", "1 to 64 letters, digits, '_', '-' or '.'");
      call.tools.push_back(
          {name, function.object_text("parameters").value_or(R"({"type":"object"})")});
    }
    read_tool_choice(fields, call);
    if (!call.tools.empty() && call.tool_choice.kind != ToolChoice::Kind::none)
      call.variables["tools"] = JsonText{json_text(*tools)};
  } else {
    read_tool_choice(fields, call);
  }
  call.parallel_tool_calls = fields.flag("parallel_tool_calls").value_or(true);
  if (call.tool_choice.kind != ToolChoice::Kind::none && call.form.kind != OutputForm::Kind::text) {
    throw ApiError(400,
                   "a text of a given form cannot call tools: remove 'response_format', or set "
                   "'tool_choice' to none",
                   "unsupported_value", "response_format");
  }
}

void read_chat_top(Fields& fields, ChatCall& call) {
  const bool scores = fields.flag("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, 20);
  if (top && !scores)
    throw ApiError(400, "'top_logprobs' needs 'logprobs': true", "invalid_value", "top_logprobs");
  if (scores) call.top = top.value_or(0);
}

/// Prepends `place` to the references within a schema that becomes a part of another schema.
void move_references(Json& schema, const std::string& place) {
  if (schema.is_array()) {
    for (Json& item : schema) move_references(item, place);
  } else if (schema.is_object()) {
    for (auto& [key, value] : schema.items()) {
      if (key == "$ref" && value.is_string() && value.get<std::string>().starts_with('#')) {
        value = place + value.get<std::string>().substr(1);
      } else {
        move_references(value, place);
      }
    }
  }
}

}  // namespace

ChatCall read_chat_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  ChatCall call;
  read_common(fields, call);
  if (const auto tokens = fields.integer("max_completion_tokens", 1, kMany)) {
    if (call.max_tokens && *call.max_tokens != *tokens)
      fields.fail("max_completion_tokens", "equal to 'max_tokens' if both are given");
    call.max_tokens = *tokens;
  }
  if (const auto variables = fields.object_text("chat_template_kwargs"))
    call.variables = chat_variables(*variables);
  call.messages = read_messages(fields);
  read_tools(fields, call);
  read_chat_top(fields, call);
  fields.only("modalities", {Json::array({"text"})});
  fields.only("add_generation_prompt", {true});
  fields.only("continue_final_message", {false});
  fields.end();
  return call;
}

CompletionCall read_completion_call(std::string_view body) {
  const Json json = json_body(body);
  Fields fields(json);
  CompletionCall call;
  read_common(fields, call);
  call.prompts = read_texts_or_ids(fields, "prompt", kMaxTexts / call.choices);
  if (const auto top = fields.integer("logprobs", 0, 20)) call.top = *top;
  fields.only("echo", {false});
  fields.only("best_of", {call.choices});
  fields.only("suffix", {""});
  fields.end();
  return call;
}

GenerationOptions generation_options(const TextCall& call, GenerationOptions options,
                                     std::int64_t prompt, std::int64_t capacity,
                                     std::int64_t default_new, std::int64_t max_output,
                                     std::uint64_t random_seed, std::int64_t choice) {
  SamplingOptions sampling = options.sampling.value_or(SamplingOptions());
  if (call.temperature) sampling.temperature = *call.temperature;
  if (call.top_p) sampling.top_p = *call.top_p;
  if (call.min_p) sampling.min_p = *call.min_p;
  if (call.top_k) sampling.top_k = std::max<std::int64_t>(*call.top_k, 0);  // -1: all, as in vLLM
  sampling.seed = call.seed.value_or(random_seed);
  sampling.first_row = choice;
  // At this temperature and at a top_p of 0, only the most likely id is left.
  constexpr double kGreedy = 1e-5;
  options.sampling.reset();
  if (sampling.temperature >= kGreedy && sampling.top_p > 0) options.sampling = sampling;

  if (call.repetition_penalty) options.repetition_penalty = *call.repetition_penalty;
  if (call.frequency_penalty) options.frequency_penalty = *call.frequency_penalty;
  if (call.presence_penalty) options.presence_penalty = *call.presence_penalty;
  if (!call.logit_bias.empty()) options.logit_bias = call.logit_bias;
  options.stop_texts.insert(options.stop_texts.end(), call.stop.begin(), call.stop.end());

  if (max_output > 0 && call.max_tokens.value_or(0) > max_output) {
    throw ApiError(400,
                   fmt::format("the request is for {} tokens, but this server generates at most {} "
                               "per text",
                               *call.max_tokens, max_output),
                   "invalid_value", "max_tokens");
  }
  const std::int64_t room = capacity - prompt;
  std::int64_t most = call.max_tokens.value_or(default_new);
  if (max_output > 0) most = std::min(most, max_output);
  options.max_new = std::min(most, room);
  options.max_length = 0;
  options.min_length = 0;
  if (call.min_tokens) {
    if (*call.min_tokens > options.max_new) {
      throw ApiError(400,
                     fmt::format("'min_tokens' is {}, but at most {} tokens are generated",
                                 *call.min_tokens, options.max_new),
                     "invalid_value", "min_tokens");
    }
    options.min_new = *call.min_tokens;
  }
  return options;
}

const Tool* only_tool(const ChatCall& call) {
  if (call.tool_choice.kind == ToolChoice::Kind::named) {
    return &*std::find_if(call.tools.begin(), call.tools.end(),
                          [&](const Tool& tool) { return tool.name == call.tool_choice.name; });
  }
  return call.tools.size() == 1 ? &call.tools.front() : nullptr;
}

std::string tool_schema(const ChatCall& call) {
  if (const Tool* only = only_tool(call)) return only->parameters;
  Json calls = Json::array();
  for (std::size_t i = 0; i < call.tools.size(); ++i) {
    const Tool& tool = call.tools[i];
    Json parameters = Json::parse(tool.parameters);
    move_references(parameters, fmt::format("#/anyOf/{}/properties/arguments", i));
    calls.push_back({{"type", "object"},
                     {"properties",
                      {{"name", {{"type", "string"}, {"enum", Json::array({tool.name})}}},
                       {"arguments", std::move(parameters)}}},
                     {"required", {"name", "arguments"}},
                     {"additionalProperties", false}});
  }
  return json_text({{"anyOf", std::move(calls)}});
}

}  // namespace weft
