// Templates of published models, compared with the reference outputs in tests/fixtures/chat.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>

#include "fixtures.h"
#include "weft/core/error.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(published_chat_templates)
namespace {

using testing::ChatJson;

ChatOptions options_of(const ChatJson& line) {
  ChatOptions options = {.add_generation_prompt = line["add_generation_prompt"].get<bool>(),
                         .now = testing::chat_time()};
  for (const auto& [name, value] : line["options"].items())
    options.variables.emplace(name, value.get<bool>());
  return options;
}

/// Checks that text runs attributed to a message occur in the message, and that all other runs
/// belong to the format.
void check_runs(const RenderedChat& chat, const Conversation& conversation) {
  std::size_t begin = 0;
  for (const TextRun& run : chat.runs) {
    BOOST_TEST_REQUIRE(begin < run.end);
    const std::string part = chat.text.substr(begin, run.end - begin);
    begin = run.end;
    if (run.origin.writer == Writer::format) continue;
    const Message& message = conversation.at(static_cast<std::size_t>(run.origin.message));
    if (run.origin.writer == Writer::header) {
      std::string role = message.role;
      std::string lower = part;
      for (std::string* text : {&role, &lower})
        std::transform(text->begin(), text->end(), text->begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      BOOST_TEST(role.find(lower) != std::string::npos);
    } else {
      bool found = message.content.find(part) != std::string::npos;
      for (const auto& [name, text] : message.more)
        found = found || text.find(part) != std::string::npos;
      BOOST_TEST(found, "'" << part << "' is not part of message " << run.origin.message);
    }
  }
  BOOST_TEST(begin == chat.text.size());
}

BOOST_AUTO_TEST_CASE(published_templates_give_the_reference_texts_and_errors) {
  std::map<std::string, int> given;
  for (const ChatJson& line : testing::chat_fixture_lines("published.jsonl")) {
    const std::string name = line["format"];
    SpecialTexts specials;
    for (const auto& [key, text] : line["specials"].items()) specials[key] = text;
    const ChatFormat format =
        ChatFormat::from_template(testing::chat_fixture("templates/" + name + ".jinja"), specials);
    const std::string messages = line["messages"].dump();
    const Conversation conversation = read_conversation(messages, "messages");
    BOOST_TEST_CONTEXT(name << " " << messages) {
      if (line.contains("text")) {
        try {
          const RenderedChat chat = format.render(conversation, options_of(line));
          BOOST_TEST(chat.text == line["text"].get<std::string>());
          check_runs(chat, conversation);
        } catch (const Error& e) {
          BOOST_ERROR(e.what());
        }
        ++given[name];
      } else {
        BOOST_CHECK_EXCEPTION(
            format.render(conversation, options_of(line)), DataError,
            testing::says(line["raised"].get<std::string>() + " (chat template, "));
      }
    }
  }
  BOOST_TEST(given.size() >= 20);
}

BOOST_AUTO_TEST_CASE(conversations_with_tools_and_thoughts_give_the_reference_texts_and_errors) {
  std::map<std::string, int> given;
  for (const ChatJson& line : testing::chat_fixture_lines("tools.jsonl")) {
    const std::string name = line["format"];
    SpecialTexts specials;
    for (const auto& [key, text] : line["specials"].items()) specials[key] = text;
    const ChatFormat format = ChatFormat::from_template(
        line.contains("template") ? line["template"].get<std::string>()
                                  : testing::chat_fixture("templates/" + name + ".jinja"),
        specials);
    const std::string messages = line["messages"].dump();
    const Conversation conversation = read_conversation(messages, "messages");
    const ChatOptions options = {.add_generation_prompt = line["add_generation_prompt"].get<bool>(),
                                 .variables = chat_variables(line["variables"].dump()),
                                 .now = testing::chat_time()};
    BOOST_TEST_CONTEXT(name << " " << messages) {
      if (line.contains("text")) {
        try {
          const RenderedChat chat = format.render(conversation, options);
          BOOST_TEST(chat.text == line["text"].get<std::string>());
          BOOST_TEST(chat.runs.back().end == chat.text.size());
        } catch (const Error& e) {
          BOOST_ERROR(e.what());
        }
        ++given[name];
      } else {
        const std::string raised =
            line.contains("raised") ? line["raised"].get<std::string>() + " (chat template, " : "";
        BOOST_CHECK_EXCEPTION(format.render(conversation, options), DataError,
                              testing::says(raised));
      }
    }
  }
  BOOST_TEST(given.size() >= 10);
}

BOOST_AUTO_TEST_CASE(texts_of_tools_and_tool_calls_are_not_part_of_the_format) {
  const ChatFormat format = ChatFormat::from_template(
      "{% for t in tools %}{{ t.name }}{% endfor %}"
      "{% for m in messages %}{% for c in m.tool_calls %}|{{ c.name }}{% endfor %}{% endfor %}");
  const Conversation conversation = read_conversation(
      R"([{"role": "user", "content": "q"},
          {"role": "assistant", "tool_calls": [{"name": "<end>"}]}])",
      "messages");
  const RenderedChat chat = format.render(
      conversation, {.variables = chat_variables(R"({"tools": [{"name": "<start>"}]})")});
  BOOST_TEST(chat.text == "<start>|<end>");
  BOOST_TEST_REQUIRE(chat.runs.size() == 3U);
  BOOST_TEST((chat.runs[0].origin == Origin{Writer::setting}));
  BOOST_TEST((chat.runs[1].origin == Origin{Writer::format}));
  BOOST_TEST((chat.runs[2].origin == Origin{Writer::contents, 1}));
}

BOOST_AUTO_TEST_CASE(invalid_template_variables_are_rejected) {
  const auto check_rejected = [](const std::string& json, const std::string& why) {
    BOOST_CHECK_EXCEPTION(chat_variables(json), FormatError, testing::says(why));
  };
  check_rejected("[]", "the template variables");
  check_rejected("{", "the template variables is not valid JSON at line 1");
  check_rejected(R"({"a": 1, "a": 2})", "the template variables");
  const ChatFormat format = ChatFormat::from_template("{{ tools | tojson }}");
  const std::string deep = std::string(41, '[') + std::string(41, ']');
  BOOST_CHECK_EXCEPTION(format.render({{"user", "x"}}, {.variables = {{"tools", JsonText{deep}}}}),
                        FormatError, testing::says("the variable 'tools'"));
  BOOST_CHECK_EXCEPTION(format.render({{"user", "x"}}, {.variables = {{"tools", JsonText{"{"}}}}),
                        FormatError, testing::says("the variable 'tools' is not valid JSON"));
  BOOST_CHECK_EXCEPTION(format.render({{"user", "x", {}, {{"tool_calls", "["}}}}), FormatError,
                        testing::says("messages[0].tool_calls is not valid JSON"));
  BOOST_TEST(
      format
          .render({{"user", "x"}},
                  {.variables = chat_variables(
                       R"({"tools": {"z": 18446744073709551615, "a": -3, "é": [null, 1.0]}})")})
          .text == R"({"z": 1.8446744073709552e+19, "a": -3, "é": [null, 1.0]})");
}

BOOST_AUTO_TEST_CASE(built_in_formats_equal_the_published_templates) {
  const std::map<std::string, std::string> counterparts = {{"chatml", "openhermes-2.5"},
                                                           {"llama-2", "llama-2-chat"},
                                                           {"llama-3", "llama-3-8b-instruct"}};
  std::set<std::string> seen;
  for (const ChatJson& line : testing::chat_fixture_lines("published.jsonl")) {
    const auto counterpart =
        std::find_if(counterparts.begin(), counterparts.end(),
                     [&](const auto& candidate) { return candidate.second == line["format"]; });
    if (counterpart == counterparts.end() || !line.contains("text")) continue;
    seen.insert(counterpart->first);
    BOOST_TEST(ChatFormat::built_in(counterpart->first)
                   .render(read_conversation(line["messages"].dump(), "messages"), options_of(line))
                   .text == line["text"].get<std::string>());
  }
  BOOST_TEST(seen.size() == counterparts.size());
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
