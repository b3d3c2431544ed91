// `weft chat` in a terminal, including Ctrl-C and Ctrl-D.
#include <boost/test/unit_test.hpp>

#include "terminal.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(chat_terminal)
namespace {

using testing::TemporaryFolder;
using testing::Terminal;
using testing::write_echo_model;

// Each byte of this answer is one id, and no byte occurs twice.
const std::string kAnswer = "\u00e9\u20ac\U0001F600\u0436";
constexpr std::int64_t kLong = 30'000;

/// Runs `weft chat` with a model folder and checks the welcome message.
class Chat : public Terminal {
 public:
  explicit Chat(const std::string& folder, const std::vector<std::string>& options = {})
      : Terminal(words(folder, options)) {
    const std::string hello = until("> ");
    BOOST_TEST(hello == "Chatting with " + folder + ". Type /help for the list of commands.\r\n> ");
  }
  /// Types a line and returns the output up to the next prompt.
  std::string say(const std::string& line) {
    type(line + "\n");
    return until("\n> ");
  }

 private:
  static std::vector<std::string> words(const std::string& folder,
                                        const std::vector<std::string>& options) {
    std::vector<std::string> all = {WEFT_PROGRAM, "chat", folder, "--threads", "1"};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
};

BOOST_AUTO_TEST_CASE(streamed_answers_contain_only_whole_characters) {
  const TemporaryFolder made("parrot");
  Chat chat(write_echo_model(made, 512, kAnswer), {"--tokens", "40"});
  BOOST_TEST(chat.say("hello") == "hello\r\n" + kAnswer + "\r\n> ");
  BOOST_TEST(chat.whole_characters());
  BOOST_TEST(chat.say("gr\u00fc\u00dfe") == "gr\u00fc\u00dfe\r\n" + kAnswer + "\r\n> ");
  BOOST_TEST(chat.say("") == "\r\n> ");
  BOOST_TEST(chat.say("/surprise") ==
             "/surprise\r\nweft: unknown command /surprise: the commands are /reset, "
             "/system TEXT, /help and /exit\r\n> ");
  BOOST_TEST(contains(chat.say("/help"), "/reset forgets the conversation, /system TEXT sets"));
  BOOST_TEST(contains(chat.say("a\xC3(b"), "weft: not UTF-8: "));
  chat.end();
  BOOST_TEST(contains(chat.rest(), "\r\n2 answers, 24 tokens in "));
  BOOST_TEST(chat.wait() == 0);  // in a terminal, rejected input does not change the exit code
}

BOOST_AUTO_TEST_CASE(answers_are_streamed_and_ctrl_c_stops_them) {
  const TemporaryFolder made("parrot");
  Chat chat(write_echo_model(made, kLong, kAnswer + " ", true), {"--tokens", "20000"});
  for (int turn = 0; turn < 2; ++turn) {
    chat.type("hello\n");
    chat.until("hello\r\n" + kAnswer + " " + kAnswer + " ");  // the answer repeats endlessly
    chat.interrupt();
    const std::string rest = chat.until("(stopped)\r\n> ");
    BOOST_TEST(!contains(rest, "\uFFFD"));  // no partial character is printed
  }
  // At the prompt, only a second Ctrl-C quits, and entering a line in between cancels the first
  // Ctrl-C. The signal may arrive just before the prompt starts to wait for input.
  for (int turn = 0; turn < 50; ++turn) {
    chat.interrupt();
    chat.until("\r\n(press Ctrl-C again to quit; Ctrl-D and /exit quit as well)\r\n> ");
    chat.say("/reset");
  }
  chat.type("half a li");
  chat.interrupt();
  chat.until("(press Ctrl-C again to quit; Ctrl-D and /exit quit as well)\r\n> ");
  chat.interrupt();
  BOOST_TEST(contains(chat.rest(), "2 answers, "));
  BOOST_TEST(chat.wait() == 0);
}

BOOST_AUTO_TEST_CASE(a_full_context_is_reported) {
  const TemporaryFolder made("parrot");
  const std::string path = write_echo_model(made, 110, kAnswer);
  Chat chat(path, {"--room", "20", "--tokens", "40"});
  std::string shown;
  for (int i = 0; i < 9 && !contains(shown, "full"); ++i) shown = chat.say("hello");
  BOOST_TEST(contains(shown, "hello\r\nweft: the context is full: the conversation has "));
  BOOST_TEST(contains(shown,
                      "(allow dropping the oldest turns, or start a new conversation): "
                      "/reset\r\n> "));
  BOOST_TEST(chat.say("/reset") == "/reset\r\n(forgot everything except the system message)\r\n> ");
  BOOST_TEST(chat.say("hello") == "hello\r\n" + kAnswer + "\r\n> ");
  BOOST_TEST(
      contains(chat.say("/system a duke"), "(a new system message; the conversation starts "));
  chat.type("/exit\n");
  chat.rest();
  BOOST_TEST(chat.wait() == 0);

  Chat forgetful(path, {"--room", "20", "--tokens", "5", "--when-full", "forget"});
  shown.clear();
  for (int i = 0; i < 9 && !contains(shown, "full"); ++i) shown = forgetful.say("hello");
  BOOST_TEST(
      contains(shown,
               "(the context was full: dropped the oldest 2 messages)\r\n(the answer reached "
               "the maximum length)\r\n> "));
}

BOOST_AUTO_TEST_CASE(ctrl_c_with_piped_input_exits_with_code_130) {
  const TemporaryFolder made("parrot");
  const std::string path = write_echo_model(made, kLong, kAnswer + " ", true);
  for (const bool in_answer : {true, false}) {
    Terminal chat(
        {WEFT_PROGRAM, "chat", path, "--tokens", in_answer ? "20000" : "11", "--threads", "1"},
        true);
    chat.type("hello\n");
    // With piped input, only the answer is printed.
    BOOST_TEST(chat.until(kAnswer).starts_with(kAnswer));
    if (!in_answer) chat.until("\r\n");
    chat.interrupt();
    chat.rest();
    BOOST_TEST(chat.wait() == 130);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
