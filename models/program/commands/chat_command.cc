// weft chat: a conversation with a language model, in a terminal or line by line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/files/trace_file.h"
#include "weft/models/program/options/generate_arguments.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/typed_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/next_token/chat_session.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/text/unicode/repair.h"

namespace weft::program {
namespace {

/// Returns the reason why `text` is not valid UTF-8, or an empty string if it is valid.
std::string not_utf8(const std::string& text) {
  try {
    require_utf8(text);
    return {};
  } catch (const FormatError& e) {
    return e.what();
  }
}

/// Returns the chat format, which is a built-in format, a template from a file, or by default the
/// model's own format.
ChatFormat format_of(const GenerateArguments& args, const std::string& asked,
                     const TextGenerator& writer) {
  const SpecialTexts specials = special_texts(writer.tokenizer());
  if (asked.empty()) {
    if (const ChatFormat* own = writer.chat_format()) return *own;
    const FolderChatFormat found =
        args.is_folder() ? read_chat_format(args.file)
                         : FolderChatFormat{{}, args.file.path + " has no chat format"};
    if (found.format) return *found.format;
    throw UsageError(fmt::format("{}: set --format to one of {}, or to a template file",
                                 found.missing, fmt::join(ChatFormat::built_in_names(), ", ")));
  }
  if (std::filesystem::exists(asked)) {
    const std::string source = read_utf8_file(asked);
    try {
      return ChatFormat::from_template(source, specials);
    } catch (const FormatError& e) {
      throw FormatError(fmt::format("{}: {}", asked, e.what()));
    }
  }
  try {
    return ChatFormat::built_in(asked, specials);
  } catch (const ArgumentError& e) {
    throw UsageError(fmt::format("--format: {} (and there is no file of that name)", e.what()));
  }
}

/// The conventional shell exit code for Ctrl-C. It is used if Ctrl-C ends a conversation outside of
/// a terminal. In a terminal, Ctrl-C is handled interactively.
constexpr int kInterrupted = 130;

/// Totals over all answers.
struct Total {
  std::int64_t answers = 0, tokens = 0;
  double seconds = 0;
};

void print_answer_json(const std::string& message, const ChatAnswer& answer) {
  say_json({{"message", message},
            {"text", repaired(answer.written.text)},
            {"tokens", answer.written.ids.size()},
            {"finish", choice_name(answer.written.finish)},
            {"prompt", answer.prompt},
            {"reused", answer.reused},
            {"forgotten", answer.forgotten}});
}

/// The conversation on stdin and stdout. Prompts and hints are printed only on a terminal; a pipe
/// receives only the answers.
class ChatDialogue {
 public:
  ChatDialogue(ChatSession& chat, const std::string& about, bool json)
      : chat_(chat),
        json_(json),
        terminal_(!json && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
    hint("{}. Type /help for the list of commands.\n", about);
  }

  int run() {
    bool twice = false;  // the last event was Ctrl-C
    for (;;) {
      hint("> ");
      flush_stdout();
      const TypedLine line = lines_.next();
      if (line.kind == TypedLine::Kind::end || stdout_failed()) break;
      if (line.kind == TypedLine::Kind::interrupted) {
        if (!terminal_) return kInterrupted;
        if (twice) break;
        twice = true;
        hint("\n(press Ctrl-C again to quit; Ctrl-D and /exit quit as well)\n");
        continue;
      }
      twice = false;
      const std::string& text = line.text;
      ++line_number_;
      if (text.empty()) continue;
      if (const std::string wrong = not_utf8(text); !wrong.empty()) {
        report_error(terminal_ ? wrong : fmt::format("stdin, line {}: {}", line_number_, wrong));
        continue;
      }
      if (text.starts_with('/')) {
        if (!command(text)) break;
        continue;
      }
      if (!answer(text)) return kInterrupted;
    }
    hint("\n");
    if (total_.answers > 0) {
      flush_stdout();
      print_stderr(
          "{}, {} in {:.2f} s: {} tokens/s\n", counted(total_.answers, "answers"),
          counted(total_.tokens, "tokens"), total_.seconds,
          short_number(static_cast<double>(total_.tokens) / std::max(total_.seconds, 1e-9)));
    }
    return failed_ ? 1 : 0;
  }

 private:
  template <class... Args>
  void hint(fmt::format_string<Args...> format, Args&&... args) {
    if (terminal_) say(format, std::forward<Args>(args)...);
  }
  /// Prints an error. In a terminal the conversation continues; otherwise the exit code becomes 1.
  void report_error(const std::string& what) {
    flush_stdout();
    print_stderr("weft: {}\n", one_line(what));
    failed_ = failed_ || !terminal_;
  }

  /// Runs a command such as "/reset". Returns false if the conversation ends.
  bool command(const std::string& line) {
    const std::size_t blank = line.find(' ');
    const std::string name = line.substr(0, blank),
                      rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (name == "/exit" || name == "/quit") return false;
    if (name == "/reset") {
      chat_.reset();
      hint("(forgot everything except the system message)\n");
    } else if (name == "/system") {
      chat_.reset(rest);
      hint("({}; the conversation starts over)\n",
           rest.empty() ? "no system message" : "a new system message");
    } else if (name == "/help") {
      say("/reset forgets the conversation, /system TEXT sets the system message and starts over, "
          "/exit quits; Ctrl-C stops an answer, Ctrl-D quits\n");
    } else {
      report_error(fmt::format(
          "unknown command {}: the commands are /reset, /system TEXT, /help and /exit", name));
    }
    return true;
  }

  /// Answers a message. Returns false if the conversation ends.
  bool answer(const std::string& text) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      ChatReply reply = chat_.say(text);
      for (const std::string_view part : reply) {
        // After Ctrl-C, nothing is printed, because the text may end in the middle of a character.
        if (!json_ && !TypedLines::interrupted()) {
          write_stdout(repaired(part));
          flush_stdout();
        }
        if (!TypedLines::interrupted() && !stdout_failed()) continue;
        reply.stop();
        break;
      }
      const ChatAnswer found = reply.run();
      json_ ? print_answer_json(text, found) : say("\n");
      total_.tokens += std::ssize(found.written.ids);
      ++total_.answers;
      if (found.forgotten > 0)
        hint("(the context was full: dropped the oldest {} messages)\n", found.forgotten);
      if (found.written.finish == Finish::length) hint("(the answer reached the maximum length)\n");
      if (found.written.finish == Finish::cancelled) hint("(stopped)\n");
    } catch (const ContextFullError& e) {
      report_error(std::string(e.what()) + (terminal_ ? ": /reset" : ""));
    } catch (const DataError& e) {  // the chat format rejects the message
      report_error(e.what());
    }
    total_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return !TypedLines::take_interrupt() || terminal_;
  }

  ChatSession& chat_;
  bool json_, terminal_, failed_ = false;
  TypedLines lines_;
  std::int64_t line_number_ = 0;
  Total total_;
};

struct ChatArguments {
  GenerateArguments generate;
  std::string format, variables;
  ChatSettings settings;
  bool json = false;
};

int run(ChatArguments& args, CommandPaths paths) {
  TraceFile trace(args.generate.trace, paths);
  args.generate.execution.trace = trace.trace();
  const auto model = model_of(load_model_for(Use::chat, args.generate.file));
  Session session(*model->graph, model->store,
                  session_options(*model, session_options(args.generate.execution)));
  const auto owned = text_generator(session, *model);
  TextGenerator& generator = *owned;
  ChatFormat format = format_of(args.generate, args.format, generator);
  ChatSettings settings = args.settings;
  settings.options = ChatSession::default_options(generator);
  if (!args.variables.empty()) {
    try {
      settings.variables = chat_variables(args.variables);
    } catch (const FormatError& e) {
      throw UsageError(fmt::format("--chat-template-kwargs: {}", e.what()));
    }
  }
  apply_arguments(args.generate, *settings.options);
  ChatSession chat(generator, std::move(format), settings);
  std::signal(SIGPIPE, SIG_IGN);
  const int code =
      ChatDialogue(chat, fmt::format("Chatting with {}", args.generate.file.path), args.json).run();
  trace.write({});
  return code;
}

}  // namespace

void add_chat_command(CLI::App& app, Action& action) {
  OptionList options(
      app, "chat",
      "Chat with a language model, in a terminal or with one message per line of stdin");
  const auto args = std::make_shared<ChatArguments>();
  GenerateArguments& writing = args->generate;
  options
      .input("file", writing.file,
             "a Hugging Face folder, a GGUF file, or a .weft file with a language model")
      .required();
  options.text("--system", args->settings.system, "the system message");
  options.text("--format", args->format,
               "chat format: chatml, llama-2, llama-3, alpaca, or a template file (default: the "
               "model's own)");
  options.text("--chat-template-kwargs", args->variables,
               "variables of the chat template, as a JSON object: '{\"enable_thinking\": false, "
               "\"tools\": [...]}'");
  options.choice(
      "--when-full", {kWhenFullNames.begin(), kWhenFullNames.end()},
      [args](const std::string& name) { args->settings.when_full = parse_choice<WhenFull>(name); },
      "when the conversation fills the context: stop (default), or drop the oldest turns, but not "
      "the system message");
  options.integer("--room", args->settings.room, kFromOne,
                  "tokens reserved for an answer; if fewer are left, the context counts as full "
                  "(default: 128)");
  options.integer(
      "--tokens", writing.tokens, kFromOne,
      "maximum length of an answer in tokens (default: the model's own setting, or 500)");
  options.flag("--greedy", writing.greedy,
               "always choose the most likely token (default for folders)");
  add_drawing_options(options, writing);
  options.texts("--stop", writing.stop, OptionList::Times::repeated,
                "end an answer after this text; may be repeated");
  options.flag(
      "--json", args->json,
      "print one JSON object per line, without prompts and hints: message, text, number of tokens "
      "in the text, finish, number of tokens in the conversation before the text (prompt), number "
      "of prompt tokens that were reused, and number of dropped messages");
  options.execution(writing.execution);
  writing.trace.add(options, "runs of the model to record (default: all)");
  options.run(action,
              [args, &parsed = options.command()] { return run(*args, CommandPaths(parsed)); });
}

}  // namespace weft::program
