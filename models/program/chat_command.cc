// weft chat: a conversation with a language model, in a terminal or line by line.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/chat/chat_format.h"
#include "weft/models/data/text.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/generate_arguments.h"
#include "weft/models/program/json_lines.h"
#include "weft/models/program/options.h"
#include "weft/models/program/text_inputs.h"
#include "weft/models/program/typed_lines.h"
#include "weft/models/program/writer.h"
#include "weft/models/tasks/next_token/chat_session.h"
#include "weft/models/tokenizers/unicode/repair.h"

namespace weft::program {
namespace {

/// What is wrong with the bytes of a line; nothing where it is UTF-8.
std::string not_utf8(const std::string& text) {
  try {
    require_utf8(text);
    return {};
  } catch (const FormatError& e) {
    return e.what();
  }
}

/// A built-in format, a template in a file, or what the model says.
ChatFormat format_of(const GenerateArguments& args, const std::string& asked,
                     const TextGenerator& writer) {
  const SpecialTexts specials = special_texts(writer.tokenizer());
  if (asked.empty()) {
    if (const ChatFormat* own = writer.chat_format()) return *own;
    const FolderChatFormat found = args.of_folder()
                                       ? read_chat_format(args.file)
                                       : FolderChatFormat{{}, args.file + " has no chat format"};
    if (found.format) return *found.format;
    std::string names;
    for (const std::string_view name : ChatFormat::built_in_names())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    throw UsageError(fmt::format("{}: give --format, one of {}, or a file with a template",
                                 found.missing, names));
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

/// The exit code of what Ctrl-C ended, as shells have it. In a terminal Ctrl-C is a way to say
/// something.
constexpr int kInterrupted = 130;

/// What all answers took together.
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

/// Talks through stdin and stdout: a terminal sees signs and hints, a pipe sees answers alone.
class Talk {
 public:
  Talk(ChatSession& chat, const std::string& about, bool json)
      : chat_(chat),
        json_(json),
        terminal_(!json && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
    hint("{}. /help says what there is besides talking.\n", about);
  }

  int run() {
    bool twice = false;  // Ctrl-C came last
    for (;;) {
      hint("> ");
      flush_stdout();
      const TypedLine line = lines_.next();
      if (line.kind == TypedLine::Kind::end || stdout_failed()) break;
      if (line.kind == TypedLine::Kind::interrupted) {
        if (!terminal_) return kInterrupted;
        if (twice) break;
        twice = true;
        hint("\n(Ctrl-C again ends, and so do Ctrl-D and /exit)\n");
        continue;
      }
      twice = false;
      const std::string& text = line.text;
      ++line_number_;
      if (text.empty()) continue;
      if (const std::string wrong = not_utf8(text); !wrong.empty()) {
        complain(terminal_ ? wrong : fmt::format("stdin, line {}: {}", line_number_, wrong));
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
      say_aside("{}, {} in {:.2f} s: {} tokens/s\n", counted(total_.answers, "answers"),
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
  /// Of what went wrong; the conversation goes on in a terminal.
  void complain(const std::string& what) {
    flush_stdout();
    say_aside("weft: {}\n", one_line(what));
    failed_ = failed_ || !terminal_;
  }

  /// False where the conversation ends.
  bool command(const std::string& line) {
    const std::size_t blank = line.find(' ');
    const std::string name = line.substr(0, blank),
                      rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (name == "/exit" || name == "/quit") return false;
    if (name == "/reset") {
      chat_.reset();
      hint("(everything but the system message is forgotten)\n");
    } else if (name == "/system") {
      chat_.reset(rest);
      hint("({}; the conversation begins anew)\n",
           rest.empty() ? "no system message" : "a new system message");
    } else if (name == "/help") {
      say("/reset forgets what was said, /system TEXT sets the system message and begins anew, "
          "/exit ends; Ctrl-C ends an answer, Ctrl-D the conversation\n");
    } else {
      complain(fmt::format("there is no command {}: /reset, /system TEXT, /help, /exit", name));
    }
    return true;
  }

  /// False where the conversation ends.
  bool answer(const std::string& text) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      const ChatAnswer found = chat_.say(text, [this](std::string_view part) {
        // What comes behind Ctrl-C may end within a character.
        if (TypedLines::interrupted()) return false;
        if (json_) return true;
        write_stdout(repaired(part));
        flush_stdout();
        return !stdout_failed();
      });
      json_ ? print_answer_json(text, found) : say("\n");
      total_.tokens += std::ssize(found.written.ids);
      ++total_.answers;
      if (found.forgotten > 0)
        hint("(the context was full: the oldest {} messages are forgotten)\n", found.forgotten);
      if (found.written.finish == Finish::length) hint("(the answer was cut at its longest)\n");
      if (found.written.finish == Finish::cancelled) hint("(stopped)\n");
    } catch (const ContextFullError& e) {
      complain(std::string(e.what()) + (terminal_ ? ": /reset" : ""));
    } catch (const DataError& e) {  // the format refuses it
      complain(e.what());
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
  std::string format;
  ChatSettings settings;
  bool json = false;
};

int run(const ChatArguments& args) {
  const Writer opened(Use::chat, args.generate.file, args.generate.threads);
  if (!opened.no_tokenizer().empty()) throw FormatError(opened.no_tokenizer());
  TextGenerator& writer = *opened.operator->();
  ChatSettings settings = args.settings;
  settings.change = [&](GenerationOptions& options) { apply_arguments(args.generate, options); };
  settings.stop = args.generate.stop;
  ChatSession chat(writer, format_of(args.generate, args.format, writer), settings);
  std::signal(SIGPIPE, SIG_IGN);
  return Talk(chat, fmt::format("talking with {}", args.generate.file), args.json).run();
}

}  // namespace

void add_chat_command(CLI::App& app, Action& action) {
  OptionList options(app, "chat",
                     "Talk with a language model: in a terminal, or with a line of stdin for each "
                     "message");
  const auto args = std::make_shared<ChatArguments>();
  GenerateArguments& writing = args->generate;
  options
      .input("file", writing.file, "a Hugging Face folder, or a .weft file with a language model")
      .required();
  options.text("--system", args->settings.system, "the system message");
  options.text(
      "--format", args->format,
      "how the model sees a conversation: chatml, llama-2, llama-3, alpaca, or a file with "
      "a template (default: the model's own)");
  options.choice(
      "--when-full", {kWhenFullNames.begin(), kWhenFullNames.end()},
      [args](const std::string& name) { args->settings.when_full = parse_choice<WhenFull>(name); },
      "where the conversation fills the context: stop (default), or forget the oldest turns but "
      "the system message");
  options.integer("--room", args->settings.room, kFromOne,
                  "tokens that must be left for an answer (default: 128)");
  options.integer("--tokens", writing.tokens, kFromOne,
                  "most ids of an answer (default: as the model's settings say, or 500)");
  options.flag("--greedy", writing.greedy, "always the likeliest id (the default of folders)");
  add_drawing_options(options, writing);
  options.texts("--stop", writing.stop, OptionList::Times::repeated,
                "an answer ends behind this text; may be repeated");
  options.flag(
      "--json", args->json,
      "a JSON object on each line, without signs and hints: message, text, tokens of it, "
      "finish, and of the conversation before it tokens, those reused, messages forgotten");
  options.threads(writing.threads);
  options.run(action, [args] { return run(*args); });
}

}  // namespace weft::program
