// Chat sessions: reuse of cached state between turns, behaviour when the context is full, and the
// command `weft chat`.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/models/tasks/next_token/chat_session.h"
#include "weft/models/tasks/next_token/language_writer.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/chat/encode_chat.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(chat_session)
namespace {

using testing::says;
using testing::TemporaryFolder;

using testing::write_chat_model;

struct Opened {
  explicit Opened(const std::string& path)
      : loaded(load_any_model(path)),
        model(dynamic_cast<LanguageModel&>(*loaded.model)),
        session(*model.graph, model.store, {.threads = 2}),
        writer(session, model),
        format(*read_chat_format(path).format) {}

  /// Returns the ids of the answer to a conversation, computed without any cached state.
  TokenIds fresh(const Conversation& conversation) {
    const EncodedChat chat = encode_chat(model.tokenizer, format, conversation,
                                         {.chat = {.add_generation_prompt = true}});
    GenerationOptions options = writer.options();
    options.stop_ids.push_back(4);
    const auto written = writer.generate_ids({{chat.ids.begin(), chat.ids.end()}}, options).run();
    return written.front().ids;
  }

  LoadedModel loaded;
  LanguageModel& model;
  Session session;
  LanguageWriter writer;
  ChatFormat format;
};

BOOST_AUTO_TEST_CASE(turns_reuse_cached_state_and_answers_do_not_change) {
  const TemporaryFolder made("chatty");
  const std::string path = write_chat_model(made, 512);
  Opened kept(path), other(path);
  ChatSession chat(kept.writer, kept.format, {.system = "a duke"});
  std::int64_t before = 0;
  for (const char* message : {"the grand old duke", "süßes Öl?", "up and down <|im_end|>"}) {
    std::string streamed;
    ChatReply reply = chat.say(message);
    for (const std::string_view text : reply) streamed += text;
    const ChatAnswer answer = reply.run();
    BOOST_TEST(streamed == answer.written.text);
    BOOST_TEST(answer.reused >= before);
    BOOST_TEST(answer.reused < answer.prompt);
    before = answer.prompt;
    Conversation asked = chat.conversation();
    BOOST_TEST(asked.back().role == "assistant");
    asked.pop_back();
    BOOST_TEST((answer.written.ids == other.fresh(asked)));
  }
  BOOST_TEST(chat.conversation().size() == 7U);
  chat.reset();
  BOOST_TEST(chat.conversation().size() == 1U);
  chat.reset("");
  BOOST_TEST(chat.conversation().empty());
}

BOOST_AUTO_TEST_CASE(a_full_context_is_an_error_unless_old_turns_may_be_dropped) {
  const TemporaryFolder made("chatty");
  Opened opened(write_chat_model(made, 160));
  const auto talk = [&](WhenFull when_full, int turns) {
    ChatSession chat(opened.writer, opened.format,
                     {.system = "a duke", .when_full = when_full, .room = 20});
    std::int64_t forgotten = 0;
    for (int i = 0; i < turns; ++i) {
      const ChatAnswer answer = chat.say("he marched them up to the top of the hill").run();
      BOOST_TEST(answer.prompt + 20 <= 160);
      forgotten += answer.forgotten;
    }
    BOOST_TEST(chat.conversation().front().role == "system");
    return forgotten;
  };
  BOOST_TEST(talk(WhenFull::forget, 8) > 0);
  BOOST_CHECK_EXCEPTION(talk(WhenFull::stop, 8), ContextFullError,
                        says("the context is full: the conversation has"));
  ChatSession chat(opened.writer, opened.format, {.when_full = WhenFull::forget});
  std::string endless;
  for (int i = 0; i < 60; ++i) endless += "up and down ";
  BOOST_CHECK_THROW(chat.say(endless), ContextFullError);
  BOOST_TEST(chat.conversation().empty());
}

BOOST_AUTO_TEST_CASE(the_generated_part_of_a_cancelled_answer_is_kept) {
  const TemporaryFolder made("chatty");
  Opened opened(write_chat_model(made, 512));
  GenerationOptions two = ChatSession::default_options(opened.writer);
  two.sampling.emplace();
  two.results = 2;
  BOOST_CHECK_EXCEPTION(ChatSession(opened.writer, opened.format, {.options = two}), ArgumentError,
                        says("results must be 1, not 2"));
  ChatSession chat(opened.writer, opened.format);
  static_cast<void>(chat.say("up").next());  // an answer that is dropped leaves no trace
  BOOST_TEST(chat.conversation().empty());
  ChatReply reply = chat.say("up");
  for (int i = 0; i < 3; ++i) BOOST_TEST(reply.next().has_value());
  reply.stop();
  const ChatAnswer answer = reply.run();
  BOOST_TEST((answer.written.finish == Finish::cancelled));
  BOOST_TEST(answer.written.ids.size() == 3U);
  BOOST_TEST(chat.conversation().size() == 2U);
  BOOST_TEST(chat.say("down").run().reused > 0);
}

BOOST_AUTO_TEST_CASE(the_chat_command_answers_messages_and_executes_commands) {
  const Shell weft;
  const TemporaryFolder made("chatty");
  const std::string path = write_chat_model(made, 512);
  const std::string command = "chat " + path + " --greedy --threads 1 ";
  const auto talk = [&](const std::string& options, const std::string& lines) {
    const std::string input = weft.write("lines", lines);
    // Class Shell appends its own redirections to the command, so a second shell is needed to
    // redirect stdin.
    return weft("--version >/dev/null; sh -c '" + std::string(WEFT_PROGRAM) + " " + command +
                options + " <" + input + "'");
  };
  const Outcome one = talk("", "the duke\n/reset\nthe duke\n");
  BOOST_TEST_INFO(one.err);
  BOOST_REQUIRE_EQUAL(one.code, 0);
  const std::string half = one.out.substr(0, one.out.size() / 2);
  BOOST_TEST(one.out == half + half);
  BOOST_TEST(contains(one.err, "2 answers, "));
  BOOST_TEST(talk("--system \"a man\"", "up\n").out == talk("", "/system a man\nup\n").out);
  BOOST_TEST(talk("", "up\n/exit\ndown\n").out == talk("", "up\n").out);
  const Outcome unknown = talk("", "/surprise\n");
  BOOST_TEST(unknown.code == 1);
  BOOST_TEST(contains(unknown.err, "unknown command /surprise"));
  BOOST_TEST(talk("--format chatml", "up\n").code == 0);
  const Outcome json = talk("--json", "the duke\nup\n");
  const std::string first = json.out.substr(0, json.out.find('\n'));
  BOOST_TEST(testing::Json::parse(first)["message"] == "the duke");
  BOOST_TEST(testing::Json::parse(first)["text"].get<std::string>() + "\n" ==
             repaired(talk("", "the duke\n").out));
  const testing::Json last = testing::Json::parse(last_line(json.out));
  BOOST_TEST(last["reused"].get<int>() > 0);
  BOOST_TEST(last["finish"] == "length");
  check_error(talk("--format martian", "up\n"), 2, "martian");
  std::string many;
  for (int i = 0; i < 40; ++i) many += "he marched them up to the top of the hill\n";
  const Outcome full = talk("", many);
  BOOST_TEST(full.code == 1);
  BOOST_TEST(contains(full.err, "weft: the context is full: the conversation has"));
  BOOST_TEST(talk("--when-full forget", many).code == 0);
  made.write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  check_error(talk("", "up\n"), 2, "set --format to one of chatml");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
