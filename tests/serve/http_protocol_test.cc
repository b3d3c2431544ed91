// Requests and replies in OpenAI's protocol, without sockets and models.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/serve/http/protocol/input_call.h"
#include "weft/models/serve/http/protocol/text_call.h"
#include "weft/models/serve/http/protocol/text_reply.h"
#include "weft/models/serve/http/protocol/tool_calls.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(http_protocol)
namespace {

using nlohmann::json;

const std::string kMessages = R"("messages":[{"role":"user","content":"hi"}])";
const std::string kTool =
    R"("tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object",)"
    R"("properties":{"a":{"type":"integer"}}}}}])";

ChatCall chat(const std::string& fields) {
  return read_chat_call("{" + kMessages + (fields.empty() ? "" : "," + fields) + "}");
}

/// Checks status, message and field of the error that `call` throws.
void check_error(const std::function<void()>& call, const std::string& message,
                 const std::string& param) {
  try {
    call();
  } catch (const ApiError& e) {
    BOOST_TEST(e.status() == 400);
    BOOST_TEST(e.what() == message);
    BOOST_TEST(e.param() == param);
    return;
  }
  BOOST_ERROR("no error: " << message);
}
void check_chat_error(const std::string& fields, const std::string& message,
                      const std::string& param) {
  check_error([&] { chat(fields); }, message, param);
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_fields_of_a_chat_are_read) {
  const ChatCall call = chat(
      R"("model":"m","temperature":0.5,"top_p":0.9,"min_p":0.1,"top_k":7,"frequency_penalty":1,)"
      R"("presence_penalty":-1,"repetition_penalty":1.5,"max_completion_tokens":12,"seed":-1,)"
      R"("stop":["a","b"],"n":3,"user":"u","timeout":2.5,"logit_bias":{"5":-100,"6":1.5},)"
      R"("stream":true,"stream_options":{"include_usage":true},"logprobs":true,"top_logprobs":4,)"
      R"("min_tokens":2,"chat_template_kwargs":{"thinking":false},"store":false,"metadata":{},)"
      R"("service_tier":"auto","parallel_tool_calls":false)");
  BOOST_TEST(call.model == "m");
  BOOST_TEST(*call.temperature == 0.5);
  BOOST_TEST(*call.top_p == 0.9);
  BOOST_TEST(*call.min_p == 0.1);
  BOOST_TEST(*call.top_k == 7);
  BOOST_TEST(*call.frequency_penalty == 1);
  BOOST_TEST(*call.presence_penalty == -1);
  BOOST_TEST(*call.repetition_penalty == 1.5);
  BOOST_TEST(*call.max_tokens == 12);
  BOOST_TEST(*call.min_tokens == 2);
  BOOST_TEST(*call.seed == ~std::uint64_t{0});
  BOOST_TEST(call.stop == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
  BOOST_TEST(call.choices == 3);
  BOOST_TEST(call.user == "u");
  BOOST_TEST(*call.timeout == 2.5);
  BOOST_TEST((call.logit_bias == std::map<std::int64_t, double>{{5, -100}, {6, 1.5}}));
  BOOST_TEST((call.stream && call.stream_usage && !call.parallel_tool_calls));
  BOOST_TEST(call.top == 4);
  BOOST_TEST(call.variables.contains("thinking"));
  BOOST_TEST(chat("").top == -1);
  BOOST_TEST(chat(R"("logprobs":true)").top == 0);
  BOOST_TEST(!chat("").stream);
}

BOOST_AUTO_TEST_CASE(invalid_fields_of_a_chat_are_named) {
  check_error([] { read_chat_call(""); }, "the request has no body: send a JSON object", "");
  check_error([] { read_chat_call("{}"); }, "the request lacks the field 'messages'", "messages");
  check_error([] { read_chat_call(R"({"messages":[]})"); },
              "'messages' must be a list of at least one message, not []", "messages");
  check_error([] { read_chat_call(R"({"messages":[{"content":"x"}]})"); },
              "the request lacks the field 'messages[0].role'", "messages[0].role");
  check_error([] { read_chat_call(R"({"messages":[{"role":"user"}]})"); },
              "the request lacks the field 'messages[0].content'", "messages[0].content");
  check_error(
      [] {
        read_chat_call(
            R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})");
      },
      "'messages[0].content[0]' has the type image_url, but only text is supported",
      "messages[0].content");
  check_chat_error(R"("temperature":"hot")",
                   "'temperature' must be a number in [0, 100], not \"hot\"", "temperature");
  check_chat_error(R"("temperature":-1)", "'temperature' must be a number in [0, 100], not -1",
                   "temperature");
  check_chat_error(R"("max_tokens":0)", "'max_tokens' must be an integer in [1, 2147483647], not 0",
                   "max_tokens");
  check_chat_error(R"("max_tokens":1.5)",
                   "'max_tokens' must be an integer in [1, 2147483647], not 1.5", "max_tokens");
  check_chat_error(R"("max_tokens":3,"max_completion_tokens":4)",
                   "'max_completion_tokens' must be equal to 'max_tokens' if both are given, not 4",
                   "max_completion_tokens");
  check_chat_error(R"("n":129)", "'n' must be an integer in [1, 128], not 129", "n");
  check_chat_error(R"("stop":[1])", "'stop' must be a string or a list of strings, not [1]",
                   "stop");
  check_chat_error(R"("stop":"")", "'stop' must be texts that are not empty, not \"\"", "stop");
  check_chat_error(R"("stream":1)", "'stream' must be true or false, not 1", "stream");
  check_chat_error(R"("stream_options":{})", "'stream_options' needs 'stream': true",
                   "stream_options");
  check_chat_error(R"("stream":true,"stream_options":{"x":1})",
                   "the field 'stream_options.x' is not supported", "stream_options.x");
  check_chat_error(R"("top_logprobs":2)", "'top_logprobs' needs 'logprobs': true", "top_logprobs");
  check_chat_error(
      R"("logit_bias":{"x":1})",
      "'logit_bias' must be an object whose keys are token ids and whose values are in "
      "[-100, 100], not {\"x\":1}",
      "logit_bias");
  check_chat_error(R"("audio":{})", "the field 'audio' is not supported", "audio");
  check_chat_error(R"("store":true)", "'store' is not supported with the value true", "store");
  check_chat_error(R"("modalities":["audio"])",
                   "'modalities' is not supported with the value [\"audio\"]", "modalities");
  check_chat_error(R"("chat_template_kwargs":[1])",
                   "'chat_template_kwargs' must be an object, not [1]", "chat_template_kwargs");
}

BOOST_AUTO_TEST_CASE(bodies_that_are_not_json_objects_are_rejected) {
  const std::vector<std::string> bodies = {
      "[1]",
      "{",
      "nonsense",
      "{\"a\":1,\"a\":2}",
      "{\"a\":\"\xff\"}",
      "{\"messages\":" + std::string(100, '[') + std::string(100, ']') + "}"};
  for (const std::string& body : bodies) {
    BOOST_TEST_CONTEXT(body) {
      BOOST_CHECK_EXCEPTION(read_chat_call(body), ApiError, [](const ApiError& e) {
        return e.status() == 400 && e.code() == "invalid_json" &&
               std::string(e.what()).find("the body of the request") != std::string::npos;
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_become_what_templates_expect) {
  const ChatCall call = read_chat_call(
      R"({"messages":[{"role":"developer","content":"be kind"},)"
      R"({"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
      R"("function":{"name":"add","arguments":"{\"a\":1}"}}]},)"
      R"({"role":"tool","tool_call_id":"c","content":"2"}]})");
  BOOST_REQUIRE(call.messages.size() == 4);
  BOOST_TEST(call.messages[0].role == "system");
  BOOST_TEST(call.messages[1].content == "one\ntwo");
  const auto& calls = call.messages[2].json.back();
  BOOST_TEST(calls.first == "tool_calls");
  BOOST_TEST(json::parse(calls.second)[0]["function"]["arguments"]["a"] == 1);
  BOOST_TEST(call.messages[3].role == "tool");
}

BOOST_AUTO_TEST_CASE(tools_and_their_choice) {
  const auto with = [](const std::string& choice) {
    return chat(kTool + (choice.empty() ? "" : ",\"tool_choice\":" + choice));
  };
  BOOST_TEST((with("").tool_choice.kind == ToolChoice::Kind::automatic));
  BOOST_TEST((with(R"("none")").tool_choice.kind == ToolChoice::Kind::none));
  BOOST_TEST(!with(R"("none")").variables.contains("tools"));
  BOOST_TEST(with("").variables.contains("tools"));
  BOOST_TEST(with(R"("required")").must_call());
  const ChatCall named = with(R"({"type":"function","function":{"name":"add"}})");
  BOOST_TEST(only_tool(named)->name == "add");
  BOOST_TEST(tool_schema(named) == R"({"type":"object","properties":{"a":{"type":"integer"}}})");
  check_chat_error(kTool + R"(,"tool_choice":{"function":{"name":"sub"}})",
                   "'tool_choice.function.name' must be the name of one of the tools, not \"sub\"",
                   "tool_choice.function.name");
  check_chat_error(kTool + R"(,"tool_choice":"always")",
                   "'tool_choice' must be none, auto, required or the name of a tool, not "
                   "\"always\"",
                   "tool_choice");
  check_chat_error(R"("tool_choice":"required")",
                   "'tool_choice' is required, but there are no tools", "tool_choice");
  check_chat_error(R"("tools":[{"type":"function","function":{"name":"a b"}}])",
                   "'tools[0].function.name' must be 1 to 64 letters, digits, '_', '-' or '.', not "
                   "\"a b\"",
                   "tools[0].function.name");
  check_chat_error(R"("tools":[{"type":"retrieval"}])",
                   "'tools[0].type' is not supported with the value \"retrieval\"",
                   "tools[0].type");
  check_chat_error(kTool + R"(,"response_format":{"type":"json_object"})",
                   "a text of a given form cannot call tools: remove 'response_format', or set "
                   "'tool_choice' to none",
                   "response_format");
}

BOOST_AUTO_TEST_CASE(a_choice_of_several_tools_is_a_schema_with_moved_references) {
  const ChatCall call =
      chat(R"("tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":)"
           R"({"name":"b","parameters":{"$ref":"#/$defs/x"}}}],"tool_choice":"required")");
  BOOST_TEST(only_tool(call) == nullptr);
  const json schema = json::parse(tool_schema(call));
  BOOST_TEST(schema["anyOf"][0]["properties"]["name"]["enum"][0] == "a");
  BOOST_TEST(schema["anyOf"][0]["properties"]["arguments"]["type"] == "object");
  BOOST_TEST(schema["anyOf"][1]["properties"]["arguments"]["$ref"] ==
             "#/anyOf/1/properties/arguments/$defs/x");
  BOOST_TEST(schema["anyOf"][1]["required"] == json({"name", "arguments"}));
}

BOOST_AUTO_TEST_CASE(forms_of_texts) {
  const auto form = [](const std::string& fields) { return chat(fields).form; };
  using Kind = OutputForm::Kind;
  BOOST_TEST((form("").kind == Kind::text));
  BOOST_TEST((form(R"("response_format":{"type":"text"})").kind == Kind::text));
  BOOST_TEST((form(R"("response_format":{"type":"json_object"})").kind == Kind::json_object));
  const OutputForm schema =
      form(R"("response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,)"
           R"("schema":{"type":"object","b":1,"a":2}}})");
  BOOST_TEST((schema.kind == Kind::json_schema));
  BOOST_TEST(schema.source == R"({"type":"object","b":1,"a":2})");  // in the order of the request
  BOOST_TEST(form(R"("guided_regex":"a+")").source == "a+");
  BOOST_TEST(form(R"("structured_outputs":{"regex":"b+"})").source == "b+");
  BOOST_TEST(form(R"("structured_outputs":{"choice":["x","y"]})").choices.size() == 2);
  BOOST_TEST(form(R"("guided_json":{"type":"null"})").source == R"({"type":"null"})");
  check_chat_error(R"("response_format":{"type":"xml"})",
                   "'response_format.type' must be text, json_object or json_schema, not \"xml\"",
                   "response_format.type");
  check_chat_error(R"("response_format":{"type":"json_schema","json_schema":{"name":"s"}})",
                   "the request lacks the field 'response_format.json_schema.schema'",
                   "response_format.json_schema.schema");
  check_chat_error(R"("guided_regex":"a","guided_choice":["b"])",
                   "'guided_choice' is a second form of the text: give only one", "guided_choice");
}

BOOST_AUTO_TEST_CASE(prompts_of_completions) {
  const auto prompts = [](const std::string& prompt) {
    return read_completion_call("{\"prompt\":" + prompt + "}").prompts;
  };
  BOOST_TEST(std::get<std::string>(prompts(R"("a")")[0]) == "a");
  BOOST_TEST(prompts(R"(["a","b"])").size() == 2);
  BOOST_TEST((std::get<TokenIds>(prompts("[1,2]")[0]) == TokenIds{1, 2}));
  BOOST_TEST((std::get<TokenIds>(prompts("[[1],[2,3]]")[1]) == TokenIds{2, 3}));
  const std::string wanted =
      "'prompt' must be a string, a list of strings, a list of token ids, or a list of lists of "
      "token ids, not ";
  for (const std::string wrong : {"5", "[]", "[1,\"a\"]", "[-1]", "[[\"a\"]]", "[true]"})
    check_error([&] { prompts(wrong); }, wanted + wrong, "prompt");
  check_error([] { read_completion_call(R"({"prompt":["a","b"],"n":65})"); },
              "'prompt' has 2 texts, but at most 1 are possible per request", "prompt");
  check_error([] { read_completion_call(R"({"prompt":"a","echo":true})"); },
              "'echo' is not supported with the value true", "echo");
  check_error([] { read_completion_call(R"({"prompt":"a","best_of":2})"); },
              "'best_of' is not supported with the value 2", "best_of");
  BOOST_TEST(read_completion_call(R"({"prompt":"a","n":2,"best_of":2,"logprobs":3})").top == 3);
}

BOOST_AUTO_TEST_CASE(options_of_a_text) {
  GenerationOptions defaults;
  defaults.max_length = 0;
  const auto options = [&](const std::string& fields, std::int64_t max_output = 0,
                           std::int64_t choice = 0) {
    return generation_options(chat(fields), defaults, 10, 100, 1000, max_output, 5, choice);
  };
  BOOST_TEST(options("").max_new == 90);
  BOOST_TEST(options(R"("max_tokens":7)").max_new == 7);
  BOOST_TEST(options("", 20).max_new == 20);
  BOOST_TEST(options("").sampling->seed == 5U);
  BOOST_TEST(options("").sampling->temperature == 1);
  BOOST_TEST(options(R"("seed":9)", 0, 2).sampling->seed == 9U);
  BOOST_TEST(options(R"("seed":9)", 0, 2).sampling->first_row == 2);
  BOOST_TEST(!options(R"("temperature":0)").sampling.has_value());
  BOOST_TEST(!options(R"("top_p":0)").sampling.has_value());
  BOOST_TEST(options(R"("top_k":-1)").sampling->top_k == 0);
  BOOST_TEST(options(R"("stop":"x")").stop_texts[0] == "x");
  BOOST_TEST(options(R"("logit_bias":{"3":2})").logit_bias.at(3) == 2);
  BOOST_TEST(options(R"("frequency_penalty":2)").frequency_penalty == 2);
  BOOST_TEST(options(R"("presence_penalty":1)").presence_penalty == 1);
  check_error([&] { options(R"("max_tokens":21)", 20); },
              "the request is for 21 tokens, but this server generates at most 20 per text",
              "max_tokens");
  check_error([&] { options(R"("max_tokens":3,"min_tokens":4)"); },
              "'min_tokens' is 4, but at most 3 tokens are generated", "min_tokens");
}

BOOST_AUTO_TEST_CASE(tool_calls_are_found_in_any_pieces) {
  struct Case {
    std::string text, content;
    std::vector<std::string> calls;
  };
  const std::string call = R"({"name":"add","arguments":{"a":1}})", found = R"(add{"a":1})";
  const std::vector<Case> cases = {
      {"just text", "just text", {}},
      {"  text with < and <tool", "  text with < and <tool", {}},
      {"<tool_call>\n" + call + "\n</tool_call>", "", {found}},
      {"I add. \n<tool_call>" + call + "</tool_call>\n<tool_call>" + call + "</tool_call>",
       "I add.",
       {found, found}},
      {"<tool_call>" + call, "", {found}},  // the end is missing
      {"<tool_call>nonsense</tool_call>!", "<tool_call>nonsense</tool_call>!", {}},
      {R"({"name":"add","parameters":{"a":1}})", "", {found}},
      {"<|python_tag|>" + call, "", {found}},
      {"{not json", "{not json", {}},
      {R"({"name":"add"})", R"({"name":"add"})", {}},
      {"[TOOL_CALLS] [" + call + "," + call + "]", "", {found, found}},
      {"[" + call + "]", "", {found}},
      {"[1, 2]", "[1, 2]", {}},
  };
  for (const Case& one : cases) {
    for (const std::size_t piece : {1UL, 3UL, 1000UL}) {
      BOOST_TEST_CONTEXT(one.text << " in pieces of " << piece) {
        ToolCallParser parser;
        std::string content;
        std::vector<std::string> calls;
        const auto add = [&](const AnswerPart& part) {
          content += part.content;
          for (const ToolCall& made : part.calls) calls.push_back(made.name + made.arguments);
        };
        for (std::size_t at = 0; at < one.text.size(); at += piece)
          add(parser.add(std::string_view(one.text).substr(at, piece)));
        add(parser.finish());
        BOOST_TEST(content == one.content);
        BOOST_TEST(calls == one.calls, boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(content_is_not_held_back_longer_than_necessary) {
  ToolCallParser parser;
  BOOST_TEST(parser.add("abc <to").content == "abc");
  BOOST_TEST(parser.add("m").content == " <tom");
}

BOOST_AUTO_TEST_CASE(replies_have_the_form_of_the_protocol) {
  const ReplyHead head{.chat = true, .id = "chatcmpl-7", .model = "m", .created = 5};
  ReplyChoice choice{.text = "hi", .finish = "stop", .scored = true};
  choice.tokens = {{"h\xc3", -0.5, {{"h\xc3", -0.5}, {"x", -2}}}};
  json reply = json::parse(text_reply(head, {choice}, {.prompt = 3, .cached = 1, .completion = 2}));
  BOOST_TEST(reply["object"] == "chat.completion");
  BOOST_TEST(reply["choices"][0]["message"] ==
             json::parse(R"({"role":"assistant","content":"hi","refusal":null})"));
  BOOST_TEST(reply["choices"][0]["finish_reason"] == "stop");
  BOOST_TEST(reply["usage"] ==
             json::parse(R"({"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,)"
                         R"("prompt_tokens_details":{"cached_tokens":1}})"));
  const json token = reply["choices"][0]["logprobs"]["content"][0];
  BOOST_TEST(token["token"] == "h\xef\xbf\xbd");
  BOOST_TEST(token["bytes"] == json({104, 195}));
  BOOST_TEST(token["top_logprobs"][1]["logprob"] == -2);

  choice = {.text = "", .calls = {{"add", "{}"}}, .finish = "tool_calls"};
  reply = json::parse(text_reply(head, {choice}, {}));
  BOOST_TEST(reply["choices"][0]["message"]["content"].is_null());
  BOOST_TEST(reply["choices"][0]["message"]["tool_calls"][0] ==
             json::parse(R"({"id":"call_7_0_0","type":"function","function":{"name":"add",)"
                         R"("arguments":"{}"}})"));
  const json chunk = json::parse(text_chunk(head, choice, true, true));
  BOOST_TEST(chunk["object"] == "chat.completion.chunk");
  BOOST_TEST(chunk["choices"][0]["delta"]["tool_calls"][0]["index"] == 0);
  BOOST_TEST(chunk["usage"].is_null());

  ReplyChoice legacy{.text = "ab", .finish = "length", .scored = true, .text_offset = 4};
  legacy.tokens = {{"a", -1, {{"a", -1}}}, {"b", -std::numeric_limits<double>::infinity()}};
  reply = json::parse(text_reply({.id = "cmpl-1"}, {legacy}, {}));
  BOOST_TEST(reply["object"] == "text_completion");
  BOOST_TEST(reply["choices"][0]["text"] == "ab");
  BOOST_TEST(reply["choices"][0]["logprobs"] ==
             json::parse(R"({"tokens":["a","b"],"token_logprobs":[-1,-9999],)"
                         R"("top_logprobs":[{"a":-1},{}],"text_offset":[4,5]})"));
  BOOST_TEST(sse_event("x") == "data: x\n\n");
}

BOOST_AUTO_TEST_CASE(requests_for_embeddings_and_ranking) {
  const EmbeddingCall call = read_embedding_call(
      R"({"model":"e","input":["a",[1,2]],"encoding_format":"base64","dimensions":8})");
  BOOST_TEST(call.base64);
  BOOST_TEST(*call.dimensions == 8);
  BOOST_TEST((std::get<TokenIds>(call.inputs[1]) == TokenIds{1, 2}));
  check_error([] { read_embedding_call(R"({"input":"a","encoding_format":"int8"})"); },
              "'encoding_format' must be float or base64, not \"int8\"", "encoding_format");
  check_error([] { read_embedding_call("{}"); }, "the request lacks the field 'input'", "input");

  const RerankCall rank = read_rerank_call(
      R"({"query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true})");
  BOOST_TEST(rank.documents[1] == "b");
  BOOST_TEST(*rank.top == 1);
  check_error([] { read_rerank_call(R"({"query":"q","documents":[]})"); },
              "'documents' must be 1 to 2048 texts, not []", "documents");
  check_error([] { read_rerank_call(R"({"documents":["a"]})"); },
              "the request lacks the field 'query'", "query");

  BOOST_TEST(read_classify_call(R"({"input":"a","top_k":2})").top == 2);
  BOOST_TEST(read_translate_call(R"({"input":["a"],"target":"de"})").target == "de");
  check_error([] { read_tag_call(R"({"input":"a","top_k":2})"); },
              "the field 'top_k' is not supported", "top_k");
  BOOST_TEST((read_detokenize_call(R"({"tokens":[3]})").tokens == TokenIds{3}));
  BOOST_TEST(!read_tokenize_call(R"({"prompt":"a","add_special_tokens":false})").add_special);
}

BOOST_AUTO_TEST_CASE(base64_of_all_remainders) {
  BOOST_TEST(base64("") == "");
  BOOST_TEST(base64("f") == "Zg==");
  BOOST_TEST(base64("fo") == "Zm8=");
  BOOST_TEST(base64("foo") == "Zm9v");
  BOOST_TEST(base64("\xff\xfe\xfd") == "//79");
}

BOOST_AUTO_TEST_CASE(errors_have_the_form_of_the_protocol) {
  BOOST_TEST(json::parse(ApiError(400, "wrong", "code", "field").body()) ==
             json::parse(R"({"error":{"message":"wrong","type":"invalid_request_error",)"
                         R"("param":"field","code":"code"}})"));
  BOOST_TEST(json::parse(ApiError(500, "bug").body())["error"]["type"] == "server_error");
  BOOST_TEST(json::parse(ApiError(429, "full").body())["error"]["type"] == "rate_limit_error");
  BOOST_TEST(json::parse(ApiError(401, "key").body())["error"]["type"] == "authentication_error");
  const auto status = [](auto error, bool accepted) {
    return api_error(std::make_exception_ptr(error), accepted).status();
  };
  BOOST_TEST(status(ArgumentError("x"), false) == 400);
  BOOST_TEST(status(DataError("x"), false) == 400);
  BOOST_TEST(status(DataError("x"), true) == 500);
  BOOST_TEST(status(std::bad_alloc(), false) == 503);
  BOOST_TEST(status(std::runtime_error("x"), false) == 500);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
