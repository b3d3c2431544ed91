#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include "weft/core/error.h"
#include "weft/models/generate/generator.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/folder_model.h"
#include "weft/models/program/generate_arguments.h"
#include "weft/models/program/memory_guard.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/tokenizers/text_stream.h"

namespace weft::program {
namespace {

constexpr std::int64_t kDefaultTokens = 500;

void print_ids(const SearchResult& result) {
  for (const TokenIds& sequence : result.sequences) say("{}\n", fmt::join(sequence, " "));
}

constexpr std::int64_t kAnyLength = std::numeric_limits<std::int64_t>::max();

/// Tokens beyond which learned positions do not go.
std::int64_t context_of(const GptConfig& config) {
  return config.positions == GptPositions::learned ? config.context : kAnyLength;
}

/// UsageError where the keys and values of all rows do not fit into memory.
void check_caches(const Graph& graph, const std::vector<TokenIds>& prompts,
                  const GenerationOptions& options, std::int64_t context) {
  std::size_t longest = 0;
  for (const TokenIds& prompt : prompts) longest = std::max(longest, prompt.size());
  const std::int64_t length = options.max_new >= 0
                                  ? static_cast<std::int64_t>(longest) + options.max_new
                                  : options.max_length;
  const auto rows =
      static_cast<double>(prompts.size()) * static_cast<double>(rows_per_prompt(options));
  const auto capacity = static_cast<double>(std::min(length, context));
  check_memory(fmt::format("keeping keys and values of {:.0f} rows of {:.0f} ids", rows, capacity),
               cache_bytes(graph, rows, capacity),
               "fewer --beams, --results, --tokens or prompts take less");
}

int generate_from_folder(const GenerateArguments& args) {
  if (!args.prompts.empty() || !args.ids || (args.prompt_ids.empty() && args.prompts_file.empty()))
    throw UsageError(
        "a folder's model reads and writes ids: give --prompt-ids \"1 2 3\" and --ids (or ids in "
        "the lines of --prompts FILE)");
  if (!args.stop.empty()) throw UsageError("--stop is a text: a folder needs --stop-sequence");
  std::vector<TokenIds> prompts = id_prompts(args);
  if (!args.prompts_file.empty()) {
    for (const std::string& line : prompt_lines(args)) {
      try {
        prompts.push_back(parse_ids(args.prompts_file, line));
      } catch (const UsageError& e) {
        throw DataError(e.what());  // of the file, not of the command line
      }
    }
  }
  const hf::Folder folder = hf::read_folder(args.file);
  const bool decoder = is_decoder(folder);
  hf::GenerationConfig settings = hf::read_generation_config(folder);
  apply_arguments(args, settings.options);
  SearchResult result;
  if (decoder) {
    if (!args.start_ids.empty())
      throw UsageError("--start-ids is for encoder-decoders: a decoder begins with its prompt");
    const DecoderModel model(folder, args.threads);
    check_caches(*model.graph, prompts, settings.options, context_of(model.config));
    Generator generator(*model.session, model.decode, model.config);
    result = generator.generate(prompts, settings.options);
  } else {
    const TokenIds start = start_ids(folder, settings.start_id, args.start_ids);
    const EncoderDecoderModel model(folder, args.threads);
    check_caches(*model.graph, prompts, settings.options, kAnyLength);
    result = generate(*model.session, model.programs, prompts, start, settings.options);
  }
  fill_up(result.sequences, settings.options.pad_id, settings.options.results);
  print_ids(result);
  return 0;
}

std::vector<TokenIds> text_prompts(const GenerateArguments& args, const Tokenizer& tokenizer) {
  std::vector<std::string> texts = args.prompts;
  if (!args.prompts_file.empty()) {
    for (const std::string& line : prompt_lines(args)) texts.push_back(line);
  }
  std::vector<TokenIds> prompts = id_prompts(args);
  const auto add = [&](const std::vector<std::int32_t>& ids) {
    prompts.emplace_back(ids.begin(), ids.end());
  };
  if (texts.empty() && prompts.empty()) add(tokenizer.start_ids());
  for (const std::string& text : texts) {
    const auto ids = tokenizer.encode(text);
    if (ids.empty()) throw UsageError("--prompt is empty: a first character is needed");
    add(ids);
  }
  return prompts;
}

/// Sequences end where their new text holds one of these. Characters can be compared as ids; which
/// pieces a text is made of depends on what stands around it.
void stop_at(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
             const std::vector<TokenIds>& prompts, GenerationOptions& options) {
  if (texts.empty()) return;
  std::size_t longest = 0;
  for (const std::string& text : texts) {
    if (text.empty()) throw UsageError("--stop is empty, which is everywhere");
    longest = std::max(longest, text.size());
  }
  if (tokenizer.reads_characters()) {
    for (const std::string& text : texts) {
      const auto ids = tokenizer.encode(text);
      options.stop_sequences.emplace_back(ids.begin(), ids.end());
    }
    return;
  }
  options.stop = [=, &tokenizer, per_prompt = rows_per_prompt(options)](
                     std::int64_t row, std::span<const std::int64_t> ids) {
    // The fewest ids at the end that may hold one, and the id in front of them: whether a blank is
    // text depends on it. Special ids hold nothing.
    const auto holds = [&](std::int64_t id) {
      return !tokenizer.is_special(static_cast<std::int32_t>(id));
    };
    std::size_t first = ids.size();
    for (std::size_t left = longest; first > 0 && left > 0; --first) {
      if (holds(ids[first - 1])) --left;
    }
    while (first > 0 && !holds(ids[first - 1])) --first;
    const TokenIds& prompt = prompts[static_cast<std::size_t>(row / per_prompt)];
    TokenIds end = first > 0 ? TokenIds{ids[first - 1]} : prompt;
    const std::size_t known = tokenizer.decode(end).size();
    end.insert(end.end(), ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
    const std::string written = tokenizer.decode(end).substr(known);
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return written.find(text) != std::string::npos;
    });
  };
}

int generate_text(const GenerateArguments& args) {
  if (!args.start_ids.empty())
    throw UsageError("--start-ids is for encoder-decoders: a decoder begins with its prompt");
  GenerationOptions options{
      .max_new = kDefaultTokens, .sampling = SamplingOptions{}, .slide = true};
  apply_arguments(args, options);
  for (const std::string& prompt : args.prompts) {
    if (prompt.empty()) throw UsageError("--prompt is empty: a first character is needed");
  }
  const LanguageModel model = load_model<LanguageModel>(args.file);
  const Tokenizer& tokenizer = model.tokenizer;
  const std::vector<TokenIds> prompts = text_prompts(args, tokenizer);
  stop_at(args.stop, tokenizer, prompts, options);
  const TokenIds wordless = ids_without_text(model);
  options.forbidden.insert(options.forbidden.end(), wordless.begin(), wordless.end());
  Session session(*model.graph, model.store, {.threads = args.threads});
  // The window slides beyond the context, whatever the positions are.
  check_caches(*model.graph, prompts, options, model.config.context);
  Generator generator(session, model.program("decode"), model.config);
  const bool alone = prompts.size() == 1 && rows_per_prompt(options) == 1;
  if (alone && !args.ids) {  // a single text is shown while it is written
    say("{}", tokenizer.decode(prompts.front()));
    TextStream stream(tokenizer, prompts.front());
    generator.generate(prompts, options, [&](std::int64_t, std::int64_t id) {
      say("{}", stream.add(id));
      flush_stdout();
      return !stdout_failed();
    });
    say("{}\n", stream.finish());
    return 0;
  }
  const SearchResult result = generator.generate(prompts, options);
  if (args.ids) {
    print_ids(result);
    return 0;
  }
  for (std::size_t i = 0; i < result.sequences.size(); ++i)
    say("{}{}\n", i == 0 ? "" : "---\n", tokenizer.decode(result.sequences[i]));
  return 0;
}

}  // namespace

void add_generate_command(CLI::App& app, Action& action) {
  OptionList options(app, "generate", "Let a trained model write");
  const auto args = std::make_shared<GenerateArguments>();
  add_generate_options(options, *args);
  options.run(action, [args] {
    return std::filesystem::is_directory(args->file) ? generate_from_folder(*args)
                                                     : generate_text(*args);
  });
}

}  // namespace weft::program
