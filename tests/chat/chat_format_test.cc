// Chat formats that are built in or read from folders, and conversations in JSON.
#include "weft/models/text/chat/chat_format.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "fixtures.h"
#include "weft/core/error.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(chat_formats)
namespace {

using testing::says;
using testing::says_exactly;

const Conversation kShort = {{"user", "Hi"}, {"assistant", "Hello"}};

BOOST_AUTO_TEST_CASE(the_alpaca_format_renders_instructions_inputs_and_responses) {
  const ChatFormat format = ChatFormat::built_in("alpaca");
  BOOST_TEST(
      format.render({{"user", "Add."}, {"input", "1 2"}}, {.add_generation_prompt = true}).text ==
      "Below is an instruction that describes a task. Write a response that appropriately "
      "completes the request.\n\n### Instruction:\nAdd.\n\n### Input:\n1 2\n\n### "
      "Response:\n");
  BOOST_TEST(
      format.render({{"system", "S"}, {"user", "a"}, {"assistant", "b"}, {"user", "c"}}).text ==
      "S\n\n### Instruction:\na\n\n### Response:\nb</s>\n\n### Instruction:\nc\n\n");
  BOOST_CHECK_EXCEPTION(format.render({{"tool", "x"}}), DataError,
                        says("Only user, input and assistant roles are supported!"));
}

BOOST_AUTO_TEST_CASE(built_in_formats_use_the_given_special_tokens) {
  BOOST_TEST(ChatFormat::built_in("llama-2").render(kShort).text ==
             "<s>[INST] Hi [/INST] Hello </s>");
  BOOST_TEST(ChatFormat::built_in("llama-2", {{"bos_token", "<B>"}, {"eos_token", "<E>"}})
                 .render(kShort)
                 .text == "<B>[INST] Hi [/INST] Hello <E>");
  BOOST_CHECK_EXCEPTION(ChatFormat::built_in("vicuna"), ArgumentError,
                        says_exactly("unknown chat format 'vicuna'; built-in formats are 'chatml', "
                                     "'llama-2', 'llama-3', 'alpaca'"));
}

BOOST_AUTO_TEST_CASE(variables_and_the_time_are_available_to_templates) {
  const ChatFormat format = ChatFormat::from_template(
      "{{ strftime_now('%d %b %Y') }}|{{ a + 1 }}|{{ b }}|{{ c ~ d }}|{{ tools is none }}");
  const ChatOptions options = {
      .variables = {{"a", std::int64_t{2}}, {"b", 0.5}, {"c", std::string("x")}, {"d", true}},
      .now = testing::chat_time()};
  const RenderedChat chat = format.render(kShort, options);
  BOOST_TEST(chat.text == "26 Jul 2024|3|0.5|xTrue|True");
  BOOST_TEST_REQUIRE(chat.runs.size() == 3U);
  BOOST_TEST((chat.runs[1].origin.writer == Writer::setting));
}

BOOST_AUTO_TEST_CASE(errors_name_the_position_of_invalid_utf8) {
  const ChatFormat format = ChatFormat::built_in("chatml");
  BOOST_CHECK_EXCEPTION(format.render({{"user", "a"}, {"user", "a\xFF"}}), FormatError,
                        says_exactly("messages[1].content is not valid UTF-8 at byte 1"));
  BOOST_CHECK_EXCEPTION(format.render({{"\xFF", "a"}}), FormatError,
                        says_exactly("messages[0].role is not valid UTF-8 at byte 0"));
}

BOOST_AUTO_TEST_CASE(templates_are_read_from_several_files_in_a_folder) {
  const testing::TemporaryFolder folder("chat");
  const auto text = [&](std::string_view name = "default") {
    const FolderChatFormat found = read_chat_format(folder.path(), name);
    return found.format ? found.format->render(kShort).text : found.missing;
  };
  BOOST_TEST(text() == folder.path() + ": the tokenizer has no chat template");
  folder.write("chat_template.json", R"({"chat_template": "json {{ messages[0].content }}"})");
  BOOST_TEST(text() == "json Hi");
  folder.write("tokenizer_config.json",
               R"({"chat_template": "{{ bos_token }}config{{ eos_token }}{{ pad_token }}",
                   "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}})");
  BOOST_TEST(text() == "<s>config</s>");
  folder.write("special_tokens_map.json", R"({"bos_token": {"content": "<b>"}})");
  BOOST_TEST(text() == "<b>config</s>");
  BOOST_TEST(text("tool_use") == folder.path() + ": there is no chat template 'tool_use'");
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "one"},
                                     {"name": "tool_use", "template": "two"}]})");
  BOOST_TEST(text() == "one");
  BOOST_TEST(text("tool_use") == "two");
  folder.write("additional_chat_templates/rag.jinja", "three");
  BOOST_TEST(text("rag") == "three");
  BOOST_TEST(text("../additional_chat_templates/rag") ==
             folder.path() + ": there is no chat template '../additional_chat_templates/rag'");
  folder.write("chat_template.jinja", "file {{ messages[1].content }}\n");
  BOOST_TEST(text() == "file Hello");
  folder.write("chat_template.jinja", "a\n{{ x | wordwrap }}");
  BOOST_TEST(text() == folder.path() +
                           ": chat_template.jinja: the chat template uses the filter 'wordwrap', "
                           "which is not supported (line 2, column 8)");
  folder.write("tokenizer_config.json", R"({"chat_template": 3})");
  BOOST_TEST(text("x") ==
             folder.path() + ": 'tokenizer_config.json.chat_template' must be a string, not 3");
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "default"}]})");
  BOOST_TEST(text("x") ==
             folder.path() + ": tokenizer_config.json.chat_template[0] lacks 'template'");
}

BOOST_AUTO_TEST_CASE(conversations_are_validated) {
  const Conversation wanted = {{"user", "a"}, {"assistant", "b", {{"name", "Bo"}}}};
  const std::string list = R"([{"role": "user", "content": "a", "tool_calls": null},
                               {"content": "b", "role": "assistant", "name": "Bo"}])";
  BOOST_TEST((read_conversation(list, "x") == wanted));
  BOOST_TEST((read_conversation(R"({"id": 3, "messages": )" + list + "}", "x") == wanted));
  const auto check_rejected = [](const std::string& json, const std::string& why) {
    BOOST_CHECK_EXCEPTION(read_conversation(json, "c.json"), FormatError, says_exactly(why));
  };
  check_rejected("{}", "c.json lacks 'messages'");
  check_rejected("[]", "c.json has no messages");
  check_rejected("3", "c.json must be a list of messages, not 3");
  check_rejected(R"({"messages": "a"})", "c.json.messages must be a list of messages, not \"a\"");
  check_rejected(R"([3])", "c.json[0] must be an object with 'role' and 'content', not 3");
  check_rejected(R"([{"role": "user"}])", "c.json[0] lacks 'content'");
  check_rejected(R"({"messages": [{"content": "x"}]})", "c.json.messages[0] lacks 'role'");
  check_rejected(R"([{"role": "user", "content": null}])",
                 "c.json[0].content must be a string, not null");
  check_rejected(R"([{"role": "user", "content": {"text": "a"}}])",
                 "c.json[0].content must be a string, not {\"text\":\"a\"}");
  check_rejected(R"([{"role": ["user"], "content": "x"}])",
                 "c.json[0].role must be a string, not [\"user\"]");
  check_rejected(R"([{"role": "user", "content": 3, "tool_calls": [1]}])",
                 "c.json[0].content must be a string, not 3");
  BOOST_CHECK_EXCEPTION(read_conversation("[", "c.json"), FormatError,
                        says("c.json is not valid JSON at line 1, column 2"));
  // The time to read an object grows with the square of the number of its keys.
  std::string keys;
  for (int i = 0; i < 1025; ++i) keys += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": 0";
  check_rejected(R"([{"role": "user", "content": "x", "more": {)" + keys + "}}]",
                 "c.json has an object with 1025 keys; the limit is 1024");
}

BOOST_AUTO_TEST_CASE(tool_calls_and_parts_of_contents_are_read) {
  const Conversation found = read_conversation(
      R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}, "x",
                                       {"type": "text", "text": "b"}], "weight": 0.5},
          {"role": "assistant", "content": null, "tool_calls": [{"z": 1, "a": {}}]},
          {"role": "assistant", "tool_calls": []}])",
      "x");
  BOOST_TEST_REQUIRE(found.size() == 3U);
  BOOST_TEST(found[0].content == "ab");
  const auto field = [&](std::size_t message, std::size_t i) { return found[message].json.at(i); };
  BOOST_TEST(
      (field(0, 0) ==
       std::pair<std::string, std::string>(
           "content",
           R"([{"type":"text","text":"a"},{"type":"image"},"x",{"type":"text","text":"b"}])")));
  BOOST_TEST((field(0, 1) == std::pair<std::string, std::string>("weight", "0.5")));
  BOOST_TEST(found[1].content.empty());
  BOOST_TEST((field(1, 0) == std::pair<std::string, std::string>("content", "null")));
  BOOST_TEST(
      (field(1, 1) == std::pair<std::string, std::string>("tool_calls", R"([{"z":1,"a":{}}])")));
  BOOST_TEST((field(2, 0) == std::pair<std::string, std::string>("tool_calls", "[]")));
  BOOST_TEST((field(2, 1) == std::pair<std::string, std::string>("content", "null")));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
