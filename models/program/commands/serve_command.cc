// weft serve: answers requests for texts, vectors, classes and translations by HTTP.
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "weft/core/version.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/serve/http/http_server.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft::program {
namespace {

enum class LogForm : std::uint8_t { text, json, none };
inline constexpr std::array<std::string_view, 3> kLogFormNames = {"text", "json", "none"};
ChoiceNames choice_names(LogForm) { return {"log", kLogFormNames}; }

struct ServeArguments {
  std::vector<std::string> models, adapters, drafts;
  std::string key_file, chat_format;
  HttpServerOptions http;
  ServedModelOptions model;
  std::int64_t port = 8080;
  std::size_t cache_memory = 0;
  int threads = 0;
  std::optional<std::int64_t> queue;
  double grace = 30;
  std::optional<double> timeout;
  LogForm log = LogForm::text;
  std::vector<AddedOption> of_decoders = {};  // options that change nothing for other models
};

/// A model, adapter or draft model on the command line: "NAME=PATH" or "PATH".
struct NamedPath {
  std::string name, path;
};

NamedPath named_path(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || std::filesystem::exists(text)) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Returns the name of a model without a given name: that of its file or folder.
std::string default_name(const std::string& path) {
  const auto file = std::filesystem::path(path).lexically_normal();
  return file.has_filename()
             ? (std::filesystem::is_directory(file) ? file.filename() : file.stem()).string()
             : file.parent_path().filename().string();
}

std::vector<NamedPath> named_models(const std::vector<std::string>& texts) {
  std::vector<NamedPath> models;
  for (const std::string& text : texts) {
    NamedPath model = named_path(text);
    if (model.name.empty()) model.name = default_name(model.path);
    models.push_back(std::move(model));
  }
  return models;
}

/// Returns the model with this name. An empty name is the only model.
std::size_t model_of(const std::vector<NamedPath>& models, const std::string& name,
                     const std::string& option, const std::string& form) {
  if (name.empty()) {
    if (models.size() == 1) return 0;
    throw UsageError(fmt::format("{} with several models needs the name of one: {}", option, form));
  }
  for (std::size_t i = 0; i < models.size(); ++i)
    if (models[i].name == name) return i;
  throw UsageError(fmt::format("{}: there is no model '{}'", option, name));
}

/// Returns the options of each model, with its adapters and its draft model.
std::vector<ServedModelOptions> options_of(const std::vector<NamedPath>& models,
                                           const ServeArguments& args) {
  std::vector<ServedModelOptions> options(models.size(), args.model);
  for (const std::string& text : args.adapters) {
    const NamedPath adapter = named_path(text);
    const std::string form = "--adapter MODEL:NAME=PATH";
    if (adapter.name.empty())
      throw UsageError(fmt::format("--adapter {} has no name: --adapter NAME=PATH", text));
    const std::size_t colon = adapter.name.find(':');
    const bool named = colon != std::string::npos;
    const std::size_t model =
        model_of(models, named ? adapter.name.substr(0, colon) : "", "--adapter", form);
    options[model].text.adapters.emplace_back(adapter.name.substr(named ? colon + 1 : 0),
                                              adapter.path);
  }
  for (const std::string& text : args.drafts) {
    const NamedPath draft = named_path(text);
    const std::size_t model = model_of(models, draft.name, "--draft", "--draft MODEL=PATH");
    std::shared_ptr<TrainedModel> loaded =
        program::model_of(load_model_for(Use::generate, draft.path));
    options[model].text.draft = std::dynamic_pointer_cast<const LanguageModel>(loaded);
    if (options[model].text.draft == nullptr)
      throw UsageError(fmt::format("--draft {}: it is not a decoder", draft.path));
  }
  return options;
}

/// Returns the keys in a file, one per line, and in WEFT_API_KEY.
std::vector<std::string> api_keys(const std::string& file) {
  std::vector<std::string> keys;
  if (const char* key = std::getenv("WEFT_API_KEY"); key != nullptr && *key != '\0')
    keys.emplace_back(key);
  if (file.empty()) return keys;
  const std::size_t before = keys.size();
  for (const std::string& line : read_lines(file))
    if (!line.empty() && line.front() != '#') keys.push_back(line);
  if (keys.size() == before)
    throw UsageError(fmt::format("--api-key-file {} contains no key: write one per line", file));
  return keys;
}

/// Returns the chat format with a built-in name, or of a template file.
ChatFormat chat_format_of(const std::string& name) {
  if (std::filesystem::exists(name)) return ChatFormat::from_template(read_utf8_file(name));
  try {
    return ChatFormat::built_in(name);
  } catch (const ArgumentError& e) {
    throw UsageError(
        fmt::format("--chat-format: {} (and there is no file of that name)", e.what()));
  }
}

std::string time_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr)));
}

void log_text(const HttpLogEntry& entry) {
  std::string line =
      fmt::format("{} {} {} {} {} {:.3f}s {}B", time_text(), entry.client, entry.method, entry.path,
                  entry.status, entry.seconds, entry.bytes);
  if (!entry.model.empty()) {
    line += fmt::format(" model={} prompt={} new={}", entry.model, entry.prompt_tokens,
                        entry.new_tokens);
  }
  print_stderr("{}\n", line);
}

void log_json(const HttpLogEntry& entry) {
  const JsonLine line = {{"time", time_text()},
                         {"client", entry.client},
                         {"method", entry.method},
                         {"path", entry.path},
                         {"status", entry.status},
                         {"seconds", rounded(entry.seconds)},
                         {"bytes", entry.bytes},
                         {"model", entry.model},
                         {"prompt_tokens", entry.prompt_tokens},
                         {"new_tokens", entry.new_tokens}};
  print_stderr("{}\n", line.dump(-1, ' ', false, JsonLine::error_handler_t::replace));
}

void print_model(const ServedModel& model) {
  std::vector<std::string_view> uses;
  for (const Use use : model.uses()) uses.push_back(choice_name(use));
  say("{}: {}", model.name(), fmt::join(uses, ", "));
  if (const TextEngine* engine = model.text()) {
    const TextEngineMemory memory = engine->memory();
    say("; context {}, {} slots; weights {}, caches {}, working memory {}",
        engine->options().capacity, engine->options().slots,
        short_bytes(static_cast<double>(memory.weights)),
        short_bytes(static_cast<double>(memory.caches)),
        short_bytes(static_cast<double>(memory.arena)));
    if (const auto adapters = engine->adapters(); !adapters.empty())
      say("; adapters {}", fmt::join(adapters, ", "));
  }
  say("\n");
}

/// Calls `stop` at the first SIGINT or SIGTERM. The second one ends the process.
class StopOnSignal {
 public:
  explicit StopOnSignal(std::function<void()> stop) {
    if (pipe2(pipe_, O_CLOEXEC) != 0) throw IoError("cannot create a pipe for signals");
    thread_ = std::thread([stop = std::move(stop)] {
      char signal = 0;
      while (read(pipe_[0], &signal, 1) < 0 && errno == EINTR) {
      }
      if (signal == 1) stop();
    });
    struct sigaction action = {};
    action.sa_handler = [](int) { notify(1); };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
  }
  ~StopOnSignal() {
    notify(0);
    thread_.join();
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  static void notify(char value) {
    const int saved = errno;
    [[maybe_unused]] const auto written = ::write(pipe_[1], &value, 1);
    errno = saved;
  }
  static inline int pipe_[2] = {-1, -1};
  std::thread thread_;
};

/// Rejects options of decoders if no model is a decoder.
void check_decoders(const std::vector<std::shared_ptr<ServedModel>>& models,
                    const ServeArguments& args) {
  if (std::any_of(models.begin(), models.end(),
                  [](const auto& model) { return model->text() != nullptr; }))
    return;
  for (const AddedOption& option : args.of_decoders) {
    if (!option.given()) continue;
    throw UsageError(fmt::format("{} has no effect: no model continues texts", option.name()));
  }
}

int run_serve(ServeArguments& args) {
  // By default, the C library keeps up to 64 MiB that a large request needed, in each thread.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as it becomes by itself
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
  HttpServerOptions http = args.http;
  http.port = static_cast<std::uint16_t>(args.port);
  http.api_keys = api_keys(args.key_file);
  if (!args.chat_format.empty()) http.chat_format = chat_format_of(args.chat_format);
  if (args.timeout)
    http.request_time = std::chrono::milliseconds(static_cast<std::int64_t>(*args.timeout * 1000));
  if (args.log == LogForm::text) http.log = log_text;
  if (args.log == LogForm::json) http.log = log_json;
  args.model.text.cache_bytes = static_cast<std::int64_t>(args.cache_memory);
  args.model.text.threads = args.model.threads = args.threads;
  if (args.queue) args.model.text.queue = args.model.queue.requests = *args.queue;

  const std::vector<NamedPath> paths = named_models(args.models);
  const std::vector<ServedModelOptions> options = options_of(paths, args);
  std::vector<std::shared_ptr<ServedModel>> models;
  for (std::size_t i = 0; i < paths.size(); ++i)
    models.push_back(std::make_shared<ServedModel>(paths[i].name, paths[i].path, options[i]));
  check_decoders(models, args);
  HttpServer server(models, std::move(http));
  say("weft {}\n", version());
  for (const auto& model : models) print_model(*model);
  say("listening at {}; Ctrl-C stops\n", server.address());
  flush_stdout();
  if (args.http.host != "localhost" && args.http.host != "::1" &&
      !args.http.host.starts_with("127.") && api_keys(args.key_file).empty()) {
    print_stderr(
        "note: without --api-key-file, every client in the network of {} can use the models\n",
        args.http.host);
  }
  std::signal(SIGPIPE, SIG_IGN);
  const StopOnSignal stop([&] {
    server.stop(std::chrono::milliseconds(static_cast<std::int64_t>(args.grace * 1000)));
  });
  server.run();
  return 0;
}

}  // namespace

void add_serve_command(CLI::App& app, Action& action) {
  OptionList options(app, "serve",
                     "Serve models by HTTP, with OpenAI's protocol and a page to try them in");
  const auto args = std::make_shared<ServeArguments>();
  const auto of_decoders = [args](const AddedOption& option) {
    args->of_decoders.push_back(option);
  };
  options
      .inputs("models", args->models,
              "models: Hugging Face folders, GGUF files or .weft files; NAME=PATH sets the name by "
              "which requests choose a model (default: the name of the file)")
      .required();
  options.text("--host", args->http.host,
               "address to listen at (default 127.0.0.1: only programs on this machine)");
  options.integer("--port", args->port, {0, 65535},
                  "port to listen at; 0 chooses a free one (default 8080)");
  of_decoders(options.texts("--adapter", args->adapters, OptionList::Times::repeated,
                            "LoRA adapter that requests choose by its name: NAME=PATH or, with "
                            "several models, MODEL:NAME=PATH; may be repeated"));
  const AddedOption speculate =
      options.integer("--speculate", args->model.text.speculate, {1, 64},
                      "tokens that are proposed per step, by --draft or by looking up the "
                      "last tokens in the text (default: none)");
  of_decoders(speculate);
  of_decoders(options
                  .texts("--draft", args->drafts, OptionList::Times::repeated,
                         "smaller decoder that proposes tokens for --speculate: PATH or, with "
                         "several models, MODEL=PATH; may be repeated")
                  .needs(speculate));
  of_decoders(options.bytes("--cache-memory", args->cache_memory,
                            "memory for keys and values per decoder, such as 4GiB (default: enough "
                            "for all slots, at most 1GiB)"));
  of_decoders(options.integer("--slots", args->model.text.slots, {1, 4096},
                              "texts that a decoder generates at the same time (default 16)"));
  of_decoders(options.integer("--chunk", args->model.text.chunk, {1, 1 << 20},
                              "tokens of a prompt that one step processes (default 256)"));
  of_decoders(options.integer("--context", args->model.text.capacity, kFromOne,
                              "tokens of a prompt and its text (default: the context of the "
                              "model)"));
  of_decoders(options.integer("--max-output", args->http.max_output, kFromOne,
                              "tokens per generated text (default: limited by the context)"));
  of_decoders(options.text("--chat-format", args->chat_format,
                           "chat format of all decoders: chatml, llama-2, llama-3, alpaca, or a "
                           "template file (default: the model's own)"));
  options.integer("--queue", args->queue, kFromOne,
                  "requests that may wait for a model; further ones get the status 429 (default "
                  "256)");
  options.real("--timeout", args->timeout, {0.001, 1e6},
               "seconds after which a request ends (default 600)");
  options.real("--grace", args->grace, {0, 1e6},
               "seconds for running requests after SIGTERM or Ctrl-C (default 30)");
  options.input("--api-key-file", args->key_file,
                "file with API keys, one per line; requests need one of them or the key in the "
                "environment variable WEFT_API_KEY");
  options.text("--cors", args->http.cors,
               "origin of web pages that may use the server, such as https://example.org, or * "
               "(default: only its own page)");
  options.integer("--max-body", args->http.max_body, {1, 1 << 30},
                  "bytes of a request (default 8388608)");
  options.choice(
      "--log", {kLogFormNames.begin(), kLogFormNames.end()},
      [args](const std::string& name) { args->log = parse_choice<LogForm>(name); },
      "form of the lines on stderr, one per request (default text)");
  options.threads(args->threads);
  options.run(action, [args] { return run_serve(*args); });
}

}  // namespace weft::program
