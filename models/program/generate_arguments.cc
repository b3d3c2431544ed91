#include "weft/models/program/generate_arguments.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <sstream>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/options.h"

namespace weft::program {
namespace {

EarlyStopping parse_early_stopping(const std::string& text) {
  if (text == "false") return EarlyStopping::heuristic;
  if (text == "true") return EarlyStopping::first;
  if (text == "never") return EarlyStopping::never;
  throw UsageError(fmt::format("--early-stopping must be true, false or never, not '{}'", text));
}

/// Greedy, drawn, or searched for with beams: what is asked for goes before what the model says.
void choose_strategy(const GenerateArguments& args, GenerationOptions& o) {
  const bool draws = args.sample || args.temperature || args.top_k || args.top_p || args.min_p;
  const bool searches = args.beams && *args.beams > 1;
  if (args.greedy && draws)
    throw UsageError(
        "--greedy draws nothing: leave out --sample, --temperature, --top-k, --top-p, "
        "--min-p, or --greedy");
  if (args.greedy && searches) throw UsageError("--greedy is one beam: leave it out, or --beams");
  if (draws && searches)
    throw UsageError(
        "--beams draws nothing: leave out --sample, --temperature, --top-k, --top-p, "
        "--min-p, or --beams");
  if (draws) {
    if (!o.sampling) o.sampling.emplace();
    o.beams = 1;
  } else if (args.greedy || args.beams) {
    o.sampling.reset();
    o.beams = args.beams.value_or(1);
  }
  if (args.seed && !o.sampling) throw UsageError("--seed needs drawing: add --sample");
  if (o.beams == 1 && !args.beams && (args.length_penalty || !args.early_stopping.empty()))
    throw UsageError("--length-penalty and --early-stopping are of beams: add --beams");
  if (args.results) {
    o.results = *args.results;
  } else if (!o.sampling) {
    o.results = std::min(o.results, o.beams);
  }
}

/// "3:17".
std::pair<std::int64_t, std::int64_t> parse_place(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    throw UsageError(fmt::format("--force must be POSITION:ID, not '{}'", excerpt(text)));
  const TokenIds place = parse_ids("--force", text.substr(0, colon)),
                 id = parse_ids("--force", text.substr(colon + 1));
  if (place.size() != 1 || id.size() != 1)
    throw UsageError(fmt::format("--force must be POSITION:ID, not '{}'", excerpt(text)));
  return {place.front(), id.front()};
}

/// A model's own settings may say what they like; what is asked for must be possible.
void check_lengths(const GenerateArguments& args, const GenerationOptions& o) {
  if (args.min_tokens && o.max_new >= 0 && o.min_new > o.max_new) {
    throw UsageError(fmt::format(
        "--min-tokens {}: a text that must not end before cannot end after {} (--tokens)",
        o.min_new, o.max_new));
  }
  if (args.min_length && o.max_new < 0 && o.min_length > o.max_length) {
    throw UsageError(fmt::format(
        "--min-length {}: a text that must not end before cannot end after {} (--max-length)",
        o.min_length, o.max_length));
  }
}

}  // namespace

void add_drawing_options(OptionList& o, GenerateArguments& args) {
  const std::string draw = "Drawing (the default of .weft files)";
  o.flag("--sample", args.sample, "draw").group(draw);
  o.real("--temperature", args.temperature, {}, "below 1: safer; above 1: bolder").group(draw);
  o.integer("--top-k", args.top_k, kFromZero, "draw from the k likeliest only; 0 = all")
      .group(draw);
  o.real("--top-p", args.top_p, {}, "draw from the likeliest that hold this much probability")
      .group(draw);
  o.real("--min-p", args.min_p, {},
         "draw from those at least this share as likely as the likeliest")
      .group(draw);
  o.seed("--seed", args.seed, "the same seed writes the same text (default: 1)").group(draw);
}

void add_generate_options(OptionList& o, GenerateArguments& args) {
  using Times = OptionList::Times;
  o.input("file", args.file, "a .weft file that weft train wrote, or a Hugging Face folder")
      .required();
  o.texts(
      "--prompt", args.prompts, Times::repeated,
      "text to go on from (default: a line break), or, of encoder-decoders, to answer; repeated: "
      "a batch");
  o.ids("--prompt-ids", args.prompt_ids, "the same as ids, \"1 2 3\"");
  o.input("--prompts", args.prompts_file,
          "a file with a prompt per line, blank ones left out (with --ids of folders: ids); - is "
          "stdin");
  o.text("--task", args.task,
         "what the prompts are for, by the folder's own settings (task_specific_params): "
         "\"summarization\"");
  o.flag("--ids", args.ids, "print ids, the prompt's (or the decoder's first) in front");
  o.flag("--json", args.json,
         "a JSON object on each line: prompt, text, ids, score of beams, finish (end, stop or "
         "length)");
  o.integer("--batch", args.batch, {1, 4096}, "prompts that are continued together (default: 32)");
  args.truncate.add(o, "the beginning (of encoder-decoders: the end)");
  o.threads(args.threads);

  const std::string length = "Length";
  o.integer("--tokens", args.tokens, kFromOne, "ids to write (.weft default: 500)").group(length);
  o.integer("--max-length", args.max_length, kFromOne, "most ids, with those in front")
      .group(length);
  o.integer("--min-length", args.min_length, kFromZero, "no end before there are as many ids")
      .group(length);
  o.integer("--min-tokens", args.min_tokens, kFromZero, "no end before as many ids are written")
      .group(length);
  o.flag("--slide", args.slide,
         "beyond the model's context go on from the later half of it (.weft: always)")
      .group(length);

  add_drawing_options(o, args);

  const std::string search = "Searching";
  o.flag("--greedy", args.greedy, "always the likeliest (the default of folders)").group(search);
  o.integer("--beams", args.beams, {1, GenerationOptions::kMaxRows}, "1 = greedy").group(search);
  o.real("--length-penalty", args.length_penalty, {-1000, 1000}, "scores are divided by length^F")
      .group(search);
  o.choice("--early-stopping", {"true", "false", "never"}, args.early_stopping,
           "true: as soon as there are as many sequences as beams; false; never: only when "
           "nothing can get better")
      .group(search);
  o.integer("--results", args.results, {1, GenerationOptions::kMaxRows},
            "texts per prompt: the best beams, or as many draws");

  const std::string rules = "Rules";
  o.real("--repetition-penalty", args.repetition_penalty, {},
         "above 1: ids that occurred are less likely")
      .group(rules);
  o.integer("--no-repeat-ngram", args.no_repeat_ngram, kFromZero,
            "no N adjacent ids twice; 0 = may")
      .group(rules);
  o.texts("--stop", args.stop, Times::repeated, "a text ends behind this; may be repeated")
      .group(rules);
  o.ids("--stop-ids", args.stop_ids, "more ids that end a text, \"1 2\"").group(rules);
  o.ids("--stop-sequence", args.stop_sequences,
        "a text ends behind these ids, \"1 2\"; may be repeated")
      .group(rules);
  o.ids("--forbid-ids", args.forbid_ids, "ids that are never taken, \"1 2\"").group(rules);
  o.add("--force", kPlaceType, Times::repeated,
        "the id in that position, counted from 0 with the prompt; may be repeated",
        [&args](const std::string& text) {
          const auto [place, id] = parse_place(text);
          if (!args.force.emplace(place, id).second)
            throw UsageError(fmt::format("--force says twice what is in position {}", place));
        })
      .group(rules);
  o.ids("--start-ids", args.start_ids,
        "encoder-decoder folders: what the output begins with, \"2 5\"")
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
  if (ids.empty()) throw UsageError(fmt::format("{} holds no id", option));
  return ids;
}

void apply_arguments(const GenerateArguments& args, GenerationOptions& o) {
  choose_strategy(args, o);
  const auto set = [](const auto& given, auto& option) {
    if (given) option = *given;
  };
  if (args.tokens && args.max_length)
    throw UsageError("--tokens and --max-length both say where to end: leave one out");
  if (args.max_length) o.max_new = -1;
  set(args.tokens, o.max_new);
  set(args.max_length, o.max_length);
  set(args.min_length, o.min_length);
  set(args.min_tokens, o.min_new);
  check_lengths(args, o);
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
    for (const std::int64_t id : parse_ids("--forbid-ids", text)) o.forbidden.push_back(id);
  }
  for (const auto& [place, id] : args.force) o.forced[place] = id;
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
    if (!lines[i].empty()) prompts.push_back({lines[i], i});
  }
  if (prompts.empty()) {
    throw DataError(
        fmt::format("{} holds no prompt", args.prompts_file == "-" ? "stdin" : args.prompts_file));
  }
  return prompts;
}

bool GenerateArguments::of_folder() const { return std::filesystem::is_directory(file); }

std::vector<TokenIds> id_prompts(const GenerateArguments& args) {
  std::vector<TokenIds> prompts;
  for (const std::string& text : args.prompt_ids)
    prompts.push_back(parse_ids("--prompt-ids", text));
  return prompts;
}

}  // namespace weft::program
