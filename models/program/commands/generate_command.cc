// weft generate: generates text with decoders and encoder-decoders.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "weft/core/error.h"
#include "weft/models/generate/structured/constraint.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/files/trace_file.h"
#include "weft/models/program/limits/decoding_guard.h"
#include "weft/models/program/options/generate_arguments.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/options/unused_options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/next_token/language_writer.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/serialization/files/read_file.h"

namespace weft::program {
namespace {

/// The prompts of the command, and the options for generating text from them.
struct Job {
  std::vector<TokenIds> prompts = {};
  GenerationOptions options = {};
  std::vector<std::string> texts = {};   // texts of the last prompts, exactly as given
  std::vector<std::string> places = {};  // names of the prompts in `texts`, for messages

  /// Returns the text of a prompt.
  std::string text(const Tokenizer& tokenizer, std::size_t prompt) const {
    const std::size_t ids = prompts.size() - texts.size();
    return prompt < ids ? tokenizer.decode(prompts[prompt]) : texts[prompt - ids];
  }
  /// Returns the name of a prompt for messages.
  std::string place(std::size_t prompt) const {
    const std::size_t ids = prompts.size() - places.size();
    if (prompt >= ids) return places[prompt - ids];
    return prompts.size() == 1 ? "the prompt"
                               : fmt::format("prompt {} of --prompt-ids", prompt + 1);
  }
};

/// Returns the prompts that are given as ids. To be called before any file is opened, so that
/// errors in the prompts are reported first.
std::vector<TokenIds> given_ids(const GenerateArguments& args) {
  std::vector<TokenIds> prompts = id_prompts(args);
  // For a folder with --ids, the lines contain ids, because the folder may have no tokenizer.
  if (!args.prompts_are_ids()) return prompts;
  for (const PromptLine& line : prompt_lines(args)) {
    try {
      prompts.push_back(parse_ids(lines_in(args.prompts_file)(line.line), line.text));
    } catch (const UsageError& e) {
      throw DataError(e.what());  // an error in the file, not on the command line
    }
  }
  return prompts;
}

void check_usage(const GenerateArguments& args) {
  for (const std::string& prompt : args.prompts) {
    if (prompt.empty()) throw UsageError("--prompt is empty: it needs at least one character");
  }
  for (const std::string& text : args.stop) {
    if (text.empty()) throw UsageError("--stop is empty: it needs at least one character");
  }
  if (args.json && args.ids) throw UsageError("--json already prints the ids: leave out --ids");
}

/// Returns the constraint of --json-schema, --regex or --choice, or null.
std::shared_ptr<const Constraint> constraint_of(const GenerateArguments& args,
                                                const TextGenerator& generator,
                                                const GenerationOptions& options) {
  const int given = !args.json_schema.empty() + !args.regex.empty() + !args.choices.empty();
  if (given == 0) return nullptr;
  if (given > 1)
    throw UsageError("--json-schema, --regex and --choice exclude each other: give one of them");
  TokenIds ends = options.stop_ids;
  if (options.eos_id >= 0) ends.push_back(options.eos_id);
  const Tokenizer tokenizer = generator.tokenizer().targets();
  std::int64_t vocab = tokenizer.vocab_size();
  for (const std::int64_t id : ends) vocab = std::max(vocab, id + 1);
  auto vocabulary = std::make_shared<const ConstraintVocabulary>(tokenizer, vocab, std::move(ends));
  if (!args.regex.empty()) return Constraint::regex(args.regex, std::move(vocabulary));
  if (!args.choices.empty()) return Constraint::choices(args.choices, std::move(vocabulary));
  std::shared_ptr<const Constraint> constraint;
  try {
    constraint = Constraint::json_schema(read_whole_file(args.json_schema), std::move(vocabulary));
  } catch (const FormatError& e) {
    e.rethrow_as(fmt::format("{}: {}", args.json_schema, e.what()));
  } catch (const ArgumentError& e) {
    e.rethrow_as(fmt::format("{}: {}", args.json_schema, e.what()));
  }
  return constraint;
}

/// Throws UsageError if texts are needed but the folder has no tokenizer. `missing` is the reason
/// why there is no tokenizer, or empty if there is one.
void require_text(const GenerateArguments& args, const std::string& missing) {
  if (missing.empty()) return;
  if (!args.stop.empty() && args.ids) {
    throw UsageError(fmt::format(
        "--stop needs a tokenizer because it is a text: use --stop-sequence for this folder ({})",
        missing));
  }
  if (!args.json_schema.empty() || !args.regex.empty() || !args.choices.empty()) {
    throw UsageError(fmt::format(
        "--json-schema, --regex and --choice need a tokenizer because they constrain texts ({})",
        missing));
  }
  if (!args.ids || !args.prompts.empty()) {
    throw UsageError(
        fmt::format("{}: without a tokenizer, the model reads and writes ids: give --prompt-ids "
                    "\"1 2 3\" and --ids (or ids in the lines of --prompts FILE)",
                    missing));
  }
}

/// Returns the ids that a text starts from if there is no prompt: bos_token_id for models from
/// folders, else a line break.
TokenIds start_of_text(const TextGenerator& generator, const std::string& file) {
  const GenerationSettings* settings = generator.settings();
  if (settings == nullptr || !settings->bos_id) {
    const auto first = generator.tokenizer().start_ids();
    return {first.begin(), first.end()};
  }
  if (*settings->bos_id < 0) {
    throw UsageError(fmt::format(
        "{} has no bos_token_id that texts without a prompt could start from: give --prompt",
        file));
  }
  return {*settings->bos_id};
}

Job make_job(GenerateArguments& args, const TextGenerator& generator, std::vector<TokenIds> ids) {
  Job job{std::move(ids), generator.options()};
  const bool decoder = generator.continues();
  if (decoder && !args.start_ids.empty())
    throw UsageError("--start-ids is for encoder-decoders: a decoder begins with its prompt");
  job.texts = args.prompts;
  for (std::size_t i = 0; i < job.texts.size(); ++i)
    job.places.push_back(job.texts.size() == 1 ? "the prompt" : fmt::format("prompt {}", i + 1));
  if (!args.prompts_file.empty() && !args.prompts_are_ids()) {
    for (const PromptLine& line : prompt_lines(args)) {
      job.texts.push_back(line.text);
      job.places.push_back(lines_in(args.prompts_file)(line.line));
    }
  }
  for (std::size_t i = 0; i < job.texts.size(); ++i) {
    job.prompts.push_back(
        with_places([&](std::size_t text) { return job.places[text]; },
                    [&] { return with_number(i, [&] { return generator.read(job.texts[i]); }); }));
  }
  if (job.prompts.empty()) {
    if (!decoder) throw UsageError("an encoder-decoder needs an input text: give --prompt");
    job.prompts.push_back(start_of_text(generator, args.file));
  }
  if (!decoder) job.options.start = start_ids(args.start_ids, job.options, args.file);
  if (args.ids) {
    job.options.batch = std::ssize(job.prompts);
    // The default lengths are those of Hugging Face's library, which are short if the folder
    // specifies none.
    if (const GenerationSettings* stored = generator.settings()) {
      job.options.max_new = stored->options.max_new;
      job.options.max_length = stored->options.max_length;
    }
  }
  apply_arguments(args, job.options);
  job.options.constraint = constraint_of(args, generator, job.options);
  if (job.options.constraint && job.options.beams > 1)
    throw UsageError("--json-schema, --regex and --choice are not supported with --beams");
  const OnCut on_cut = args.truncate.on_cut();
  job.options.truncate = on_cut != nullptr;
  const PlaceOf place = [&](std::size_t prompt) { return job.place(prompt); };
  refuse_unused_truncation(args.truncate, generator, job.options.slide);
  with_places(place, [&] {
    for (const CutText& cut : generator.fit_prompts(job.prompts, job.options)) on_cut(cut);
  });
  args.truncate.report(place, decoder ? "the last" : "the first");
  for (const TokenIds& prompt : job.prompts)
    check_lengths(args, generator.options_for(prompt, job.options));
  refuse_unused(args, generator, job.prompts, job.options, place);
  return job;
}

int print_ids(TextGenerator& generator, const Job& job) {
  std::vector<TokenIds> sequences;
  for (const WrittenText& written : generator.generate_ids(job.prompts, job.options).run()) {
    const std::size_t prompt = sequences.size() / static_cast<std::size_t>(job.options.results);
    TokenIds& ids =
        sequences.emplace_back(generator.continues() ? job.prompts[prompt] : job.options.start);
    ids.insert(ids.end(), written.ids.begin(), written.ids.end());
  }
  if (generator.settings() != nullptr)
    pad_to_longest(sequences, job.options.pad_id, job.options.results);
  for (const TokenIds& sequence : sequences) say("{}\n", fmt::join(sequence, " "));
  return 0;
}

/// Prints a single text while it is being generated. The prompt is printed together with the first
/// token, so that nothing is printed if generation fails at the start.
int stream(TextGenerator& generator, const Job& job) {
  std::string prompt =
      generator.continues() ? generator.tokenizer().decode(job.prompts.front()) : std::string();
  const SpeedReport speed;
  TextGeneration generation = generator.generate_ids(job.prompts, job.options);
  for (const std::string_view text : generation) {
    write_stdout(prompt);
    prompt.clear();
    write_stdout(text);
    flush_stdout();
    if (stdout_failed()) return 0;
  }
  say("\n");
  if (!stdout_failed() && generator.settings() != nullptr)
    speed.done("texts", 1, std::ssize(generation.run().front().ids));
  return 0;
}

int print_texts(TextGenerator& generator, const Job& job, bool json) {
  const SpeedReport speed;
  const std::vector<WrittenText> written = generator.generate_ids(job.prompts, job.options).run();
  const std::size_t results = written.size() / job.prompts.size();
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const WrittenText& one = written[i];
    const Tokenizer& tokenizer = generator.tokenizer();
    tokens += std::ssize(one.ids);
    if (json) {
      JsonLine line = {{"prompt", job.text(tokenizer, i / results)},
                       {"text", repaired(one.text)},
                       {"ids", one.ids}};
      if (one.score) line["score"] = rounded_score(*one.score);
      line["finish"] = choice_name(one.finish);
      say_json(line);
    } else {
      say("{}{}{}\n", i == 0 ? "" : "---\n",
          generator.continues() ? tokenizer.decode(job.prompts[i / results]) : "", one.text);
    }
  }
  if (job.prompts.size() > 1) speed.done("texts", std::ssize(job.prompts), tokens);
  return 0;
}

int run(GenerateArguments& args, CommandPaths paths, const World& world) {
  TraceFile trace = on_all_ranks(world, [&] { return TraceFile(args.trace, paths, world); });
  args.execution.trace = trace.trace();
  std::vector<TokenIds> ids;
  on_all_ranks(world, [&] {
    check_usage(args);
    if (world.size() > 1 && args.prompts_file == "-")
      throw UsageError("--prompts - is stdin, which only one rank can read: give a file");
    ids = given_ids(args);
    if (!args.is_folder()) {  // reports invalid options before a file is opened
      GenerationOptions usual{.sampling = SamplingOptions{}, .slide = true};
      usual.max_new = LanguageWriter::kDefaultTokens;
      apply_arguments(args, usual);
      check_lengths(args, usual);
    }
  });
  ModelSession opened(Use::generate, args.file, args.execution, world);
  const auto owned = text_generator(opened.session, *opened.model);
  TextGenerator& generator = *owned;
  Job job;
  on_all_ranks(world, [&] {
    require_text(args, generator.missing_tokenizer());
    if (!args.task.empty()) generator.set_task(args.task);
    job = make_job(args, generator, std::move(ids));
    check_caches(generator, *opened.model->graph, job.prompts, job.options,
                 "reduce --beams, --results, --tokens or the number of prompts");
  });
  const bool alone = job.prompts.size() == 1 && job.options.results == 1;
  const int code = args.ids              ? print_ids(generator, job)
                   : alone && !args.json ? stream(generator, job)
                                         : print_texts(generator, job, args.json);
  trace.write(world);
  return code;
}

}  // namespace

void add_generate_command(CLI::App& app, Action& action) {
  OptionList options(app, "generate", "Generate text with a trained model");
  const auto args = std::make_shared<GenerateArguments>();
  add_generate_options(options, *args);
  args->trace.add(options, "runs of the model to record (default: all)");
  options.run(action, [args, &parsed = options.command()](const World& world) {
    return run(*args, CommandPaths(parsed), world);
  });
}

}  // namespace weft::program
