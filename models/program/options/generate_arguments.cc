#include "weft/models/program/options/generate_arguments.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <sstream>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/unicode/blank_text.h"

namespace weft::program {
namespace {

EarlyStopping parse_early_stopping(const std::string& text) {
  if (text == "false") return EarlyStopping::heuristic;
  if (text == "true") return EarlyStopping::first;
  if (text == "never") return EarlyStopping::never;
  throw UsageError(fmt::format("--early-stopping must be true, false or never, not '{}'", text));
}

/// Selects greedy search, sampling or beam search. The command line takes precedence over the
/// model's settings.
void choose_strategy(const GenerateArguments& args, GenerationOptions& o) {
  const bool draws = args.sample || args.temperature || args.top_k || args.top_p || args.min_p;
  const bool searches = args.beams && *args.beams > 1;
  if (args.greedy && draws)
    throw UsageError(
        "--greedy does not sample: leave out --sample, --temperature, --top-k, --top-p, --min-p, "
        "or --greedy");
  if (args.greedy && searches)
    throw UsageError("--greedy searches with a single beam: leave out --greedy or --beams");
  if (draws && searches)
    throw UsageError(
        "--beams does not sample: leave out --sample, --temperature, --top-k, --top-p, --min-p, or "
        "--beams");
  if (draws) {
    if (!o.sampling) o.sampling.emplace();
    o.beams = 1;
  } else if (args.greedy || args.beams) {
    o.sampling.reset();
    o.beams = args.beams.value_or(1);
  }
  if (args.seed && !o.sampling) throw UsageError("--seed is only for sampling: add --sample");
  if (o.beams == 1 && (args.length_penalty || !args.early_stopping.empty()))
    throw UsageError(
        "--length-penalty and --early-stopping are only for beam search: add --beams 2 or more");
  if (args.results) {
    o.results = *args.results;
  } else if (!o.sampling) {
    o.results = std::min(o.results, o.beams);
  }
}

/// Parses a forced id of the form POSITION:ID, such as "3:17".
std::pair<std::int64_t, std::int64_t> parse_forced_id(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    throw UsageError(fmt::format("--force must be POSITION:ID, not '{}'", excerpt(text)));
  const TokenIds place = parse_ids("--force", text.substr(0, colon)),
                 id = parse_ids("--force", text.substr(colon + 1));
  if (place.size() != 1 || id.size() != 1)
    throw UsageError(fmt::format("--force must be POSITION:ID, not '{}'", excerpt(text)));
  return {place.front(), id.front()};
}

}  // namespace

void add_drawing_options(OptionList& o, GenerateArguments& args) {
  const std::string draw = "Sampling (default for .weft files)";
  o.flag("--sample", args.sample, "sample tokens instead of choosing the most likely ones")
      .group(draw);
  o.real("--temperature", args.temperature, {},
         "sampling temperature: below 1 is more conservative, above 1 more varied")
      .group(draw);
  o.integer("--top-k", args.top_k, kFromZero, "sample only from the k most likely tokens; 0 = all")
      .group(draw);
  o.real("--top-p", args.top_p, {},
         "sample only from the most likely tokens with this total probability")
      .group(draw);
  o.real("--min-p", args.min_p, {},
         "sample only from tokens with at least this fraction of the highest probability")
      .group(draw);
  o.seed("--seed", args.seed, "random seed: the same seed generates the same text (default: 1)")
      .group(draw);
}

void add_generate_options(OptionList& o, GenerateArguments& args) {
  using Times = OptionList::Times;
  o.input("file", args.file,
          "a .weft file written by weft train, a Hugging Face folder, or a GGUF file")
      .required();
  o.texts("--prompt", args.prompts, Times::repeated,
          "text to continue (default: the folder's bos_token_id or, for models trained by Weft, a "
          "line break), or the input text of an encoder-decoder; "
          "repeat for a batch");
  o.ids("--prompt-ids", args.prompt_ids, "prompt as ids, such as \"1 2 3\"; repeat for a batch");
  o.input("--prompts", args.prompts_file,
          "file with one prompt per line (- is stdin); for a folder with --ids, each line contains "
          "ids; blank lines are skipped");
  o.text("--task", args.task,
         "task of the prompts, one of task_specific_params in the folder's config, such as "
         "\"summarization\"");
  o.flag("--ids", args.ids,
         "print ids instead of text, starting with the ids of the prompt (encoder-decoders: with "
         "the decoder's first ids)");
  o.flag("--json", args.json,
         "print one JSON object per line: prompt, text, ids, score (only for beam search), finish "
         "(end, stop or length)");
  o.integer("--batch", args.batch, {1, 4096}, "prompts per batch (default: 32)");
  args.truncate.add(o, "the beginning (encoder-decoders: the end)");
  o.execution(args.execution);

  const std::string length = "Length";
  o.integer("--tokens", args.tokens, kFromOne,
            "maximum number of generated ids (default for .weft files: 500)")
      .group(length);
  o.integer(
       "--max-length", args.max_length, kFromOne,
       "maximum number of ids, including the prompt (encoder-decoders: the decoder's first ids)")
      .group(length);
  o.integer("--min-length", args.min_length, kFromZero,
            "minimum number of ids, counted like --max-length")
      .group(length);
  o.integer("--min-tokens", args.min_tokens, kFromZero, "minimum number of generated ids")
      .group(length);
  o.flag("--slide", args.slide,
         "when the model's context is full, continue from its second half (.weft files: always)")
      .group(length);

  add_drawing_options(o, args);

  const std::string search = "Search";
  o.flag("--greedy", args.greedy, "always choose the most likely token (default for folders)")
      .group(search);
  o.integer("--beams", args.beams, {1, GenerationOptions::kMaxRows}, "number of beams; 1 = greedy")
      .group(search);
  o.real("--length-penalty", args.length_penalty, kLengthPenalties,
         "divide the scores of beams by length^F")
      .group(search);
  o.choice("--early-stopping", {"true", "false", "never"}, args.early_stopping,
           "when to stop beam search: true = when there are as many finished sequences as beams; "
           "false = when no unfinished beam could improve the results by ending now; never = when "
           "no unfinished beam could improve the results at any length")
      .group(search);
  o.integer("--results", args.results, {1, GenerationOptions::kMaxRows},
            "number of texts per prompt (the best beams, or independent samples)");

  const std::string rules = "Rules";
  o.real("--repetition-penalty", args.repetition_penalty, {},
         "a value above 1 makes ids less likely if they have occurred before")
      .group(rules);
  o.integer("--no-repeat-ngram", args.no_repeat_ngram, kFromZero,
            "never generate the same N-gram of ids twice; 0 = off")
      .group(rules);
  o.texts("--stop", args.stop, Times::repeated, "end a text after this string; may be repeated")
      .group(rules);
  o.ids("--stop-ids", args.stop_ids, "additional ids that end a text, such as \"1 2\"")
      .group(rules);
  o.ids("--stop-sequence", args.stop_sequences,
        "end a text after this sequence of ids, such as \"1 2\"; may be repeated")
      .group(rules);
  o.ids("--forbid-ids", args.forbid_ids, "ids that are never generated, such as \"1 2\"")
      .group(rules);
  o.add("--force", kPlaceType, Times::repeated,
        "generate this id at this position, counted from 0 including the prompt; may be repeated",
        [&args](const std::string& text) {
          const auto [place, id] = parse_forced_id(text);
          if (!args.force.emplace(place, id).second)
            throw UsageError(fmt::format("--force is given twice for position {}", place));
        })
      .group(rules);
  o.input("--json-schema", args.json_schema,
          "generate JSON that conforms to the JSON schema in this file")
      .group(rules);
  o.text("--regex", args.regex, "generate a text that matches this regular expression")
      .group(rules);
  o.texts("--choice", args.choices, Times::repeated,
          "generate one of several texts; repeat for each of them")
      .group(rules);
  o.ids("--start-ids", args.start_ids,
        "encoder-decoder folders: first ids of the output, such as \"2 5\"")
      .group(rules);
}

TokenIds parse_ids(const std::string& option, const std::string& text) {
  TokenIds ids;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    try {
      ids.push_back(parse_integer(option, word, {0, std::numeric_limits<std::int32_t>::max()}));
    } catch (const ArgumentError&) {
      throw UsageError(fmt::format("{}: '{}' is not an id", option, excerpt(word)));
    }
  }
  if (ids.empty()) throw UsageError(fmt::format("{} contains no ids", option));
  return ids;
}

TokenIds start_ids(const std::string& given, const GenerationOptions& options,
                   const std::string& file) {
  if (!given.empty()) return parse_ids("--start-ids", given);
  if (options.start.empty())
    throw ArgumentError(fmt::format("{} sets no decoder_start_token_id: give --start-ids", file));
  return options.start;
}

void check_lengths(const GenerateArguments& args, const GenerationOptions& o) {
  // The model's own settings may contradict each other.
  if (args.min_tokens && o.max_new >= 0 && o.min_new > o.max_new) {
    throw UsageError(fmt::format("--min-tokens {} is more than the maximum of {} tokens (--tokens)",
                                 o.min_new, o.max_new));
  }
  if (args.min_length && o.max_new < 0 && o.min_length > o.max_length) {
    throw UsageError(
        fmt::format("--min-length {} is more than the maximum of {} ids (--max-length)",
                    o.min_length, o.max_length));
  }
}

void apply_arguments(const GenerateArguments& args, GenerationOptions& o) {
  choose_strategy(args, o);
  const auto set = [](const auto& given, auto& option) {
    if (given) option = *given;
  };
  if (args.tokens && args.max_length)
    throw UsageError("--tokens and --max-length both limit the length: give only one of them");
  if (args.max_length) o.max_new = -1;
  set(args.tokens, o.max_new);
  set(args.max_length, o.max_length);
  set(args.min_length, o.min_length);
  set(args.min_tokens, o.min_new);
  if (o.sampling) {
    set(args.temperature, o.sampling->temperature);
    set(args.top_k, o.sampling->top_k);
    set(args.top_p, o.sampling->top_p);
    set(args.min_p, o.sampling->min_p);
    set(args.seed, o.sampling->seed);
  }
  set(args.length_penalty, o.length_penalty);
  if (!args.early_stopping.empty()) o.early_stopping = parse_early_stopping(args.early_stopping);
  set(args.repetition_penalty, o.repetition_penalty);
  set(args.no_repeat_ngram, o.no_repeat_ngram);
  for (const std::string& text : args.stop_ids) {
    for (const std::int64_t id : parse_ids("--stop-ids", text)) o.stop_ids.push_back(id);
  }
  for (const std::string& text : args.stop_sequences)
    o.stop_sequences.push_back(parse_ids("--stop-sequence", text));
  for (const std::string& text : args.forbid_ids) {
    for (const std::int64_t id : parse_ids("--forbid-ids", text)) o.bad_token_ids.push_back(id);
  }
  for (const auto& [place, id] : args.force) o.forced[place] = id;
  o.stop_texts = args.stop;
  set(args.batch, o.batch);
  o.slide = o.slide || args.slide;
  try {
    o.check();
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
}

std::vector<PromptLine> prompt_lines(const GenerateArguments& args) {
  std::vector<PromptLine> prompts;
  const std::vector<std::string> lines = read_lines(args.prompts_file);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_blank(lines[i])) prompts.push_back({lines[i], i});
  }
  if (prompts.empty()) {
    throw DataError(fmt::format("{} contains no prompt",
                                args.prompts_file == "-" ? "stdin" : args.prompts_file));
  }
  return prompts;
}

bool GenerateArguments::is_folder() const { return std::filesystem::is_directory(file.path); }

std::vector<TokenIds> id_prompts(const GenerateArguments& args) {
  std::vector<TokenIds> prompts;
  for (const std::string& text : args.prompt_ids)
    prompts.push_back(parse_ids("--prompt-ids", text));
  return prompts;
}

}  // namespace weft::program
