// weft score: computes the likelihood of texts under a model.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/options/generate_arguments.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/options/unused_options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/common/bits_per_byte.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/unicode/blank_text.h"

namespace weft::program {
namespace {

struct ScoreArguments {
  ModelPath file;
  std::vector<std::string> prompts, continuations, prompt_ids, continuation_ids;
  std::string start_ids, input;
  TruncateOption truncate;
  bool json = false, cached = false;
  Execution execution;
};

std::vector<TokenIds> parse_all(const std::string& option, const std::vector<std::string>& texts) {
  std::vector<TokenIds> ids;
  for (const std::string& text : texts) ids.push_back(parse_ids(option, text));
  return ids;
}

/// Returns one prompt per continuation. A single prompt is repeated for all `count` continuations.
/// Returns an empty list if there are no prompts.
template <class Prompt>
std::vector<Prompt> prompts_for(std::vector<Prompt> prompts, std::size_t count) {
  if (prompts.size() == 1) prompts.resize(count, prompts.front());
  if (!prompts.empty() && prompts.size() != count) {
    throw UsageError(
        fmt::format("there are {} prompts for {} continuations: give one for all, or "
                    "one for each",
                    prompts.size(), count));
  }
  return prompts;
}

/// Formats an id for printing.
using Show = std::function<std::string(std::int64_t)>;

std::string piece_of(const Tokenizer& tokenizer, std::int64_t id) {
  std::string text = tokenizer.piece(id);
  for (std::size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "\\n");
  return text;
}

/// Likelihood measures of a text. If there is no tokenizer, the size of the text is unknown and
/// `bytes` is 0.
struct Figures {
  Figures(const ContinuationScore& score, std::int64_t text_bytes)
      : total(score.total()),
        ids(std::ssize(score.log_probabilities)),
        bytes(text_bytes),
        perplexity(require_finite(score.perplexity(), "the perplexity of a continuation")) {}
  double bits() const { return bits_per_byte(-total / static_cast<double>(ids), ids, bytes); }

  double total;
  std::int64_t ids, bytes;
  double perplexity;
};

void print_score(const TokenIds& ids, const ContinuationScore& score, const Figures& figures,
                 const Show& show) {
  for (std::size_t j = 0; j < score.log_probabilities.size(); ++j)
    say("{:<10} {:12.6f}\n", show(ids[j]), score.log_probabilities[j]);
  if (figures.bytes > 0) say("{} {:.5f}\n", kBitsPerByte, figures.bits());
  say("total      {:12.6f} of {} ids, perplexity {:.4f}\n", figures.total, figures.ids,
      figures.perplexity);
}

void print_score_json(const std::string& text, const Figures& figures) {
  JsonLine line = {{"text", text}};
  if (figures.bytes > 0) line[kBitsPerByte] = rounded(figures.bits());
  line["perplexity"] = rounded(figures.perplexity);
  line["total"] = rounded(figures.total);
  line["ids"] = figures.ids;
  say_json(line);
}

/// Prints the result for blank lines of --input, which contain nothing to score, so that line i of
/// the output belongs to line i of the file.
void print_blank_lines(std::size_t count, bool json) {
  for (; count > 0; --count) {
    if (json) {
      say_json({{"text", ""},
                {kBitsPerByte, nullptr},
                {"perplexity", nullptr},
                {"total", 0.0},
                {"ids", 0}});
    } else {
      say("\n");
    }
  }
}

/// The texts to score. They are scored after the continuations that are given as ids.
struct Texts {
  std::vector<std::string> texts;
  std::vector<std::size_t> lines = {};  // line numbers in --input, one per text
  std::size_t line_count = 0;           // lines in --input, including blank ones
};

Texts texts_to_score(const ScoreArguments& args, const World& world) {
  Texts found{args.continuations};
  if (args.input.empty()) return found;
  const std::vector<std::string> lines =
      texts_of_first(world, [&] { return read_lines(args.input); });
  found.lines.resize(found.texts.size());
  found.line_count = lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    found.texts.push_back(lines[i]);
    found.lines.push_back(i);
  }
  if (found.texts.empty())
    throw DataError(fmt::format("{} contains no text", args.input == "-" ? "stdin" : args.input));
  return found;
}

/// Returns the name of continuation `i` for messages.
std::string place_of(const ScoreArguments& args, const Texts& texts, std::size_t i) {
  const std::size_t ids = args.continuation_ids.size(), own = ids + args.continuations.size();
  if (i >= own) return lines_in(args.input)(texts.lines[i - ids]);
  return own == 1 ? "the continuation" : fmt::format("continuation {}", i + 1);
}

/// Returns prompts and continuations as ids. If the folder has no tokenizer, they must be given as
/// ids.
std::vector<Continuation> read_all(const ScoreArguments& args, const TextGenerator& writer,
                                   const Texts& texts) {
  std::vector<Continuation> all;
  for (TokenIds& ids : parse_all("--continuation-ids", args.continuation_ids))
    all.push_back({{}, std::move(ids)});
  const std::size_t given = all.size(), count = given + texts.texts.size();
  if (count == 0) {
    throw UsageError(
        "there is nothing to score: give --continuation, --continuation-ids or --input");
  }
  std::vector<TokenIds> fronts = parse_all("--prompt-ids", args.prompt_ids);
  for (const std::string& text : args.prompts) fronts.push_back(writer.read(text));
  if (fronts.empty() && !writer.continues())
    throw UsageError("an encoder-decoder needs a prompt: give --prompt or --prompt-ids");
  fronts = prompts_for(std::move(fronts), count);
  for (std::size_t i = given; i < count; ++i) {
    all.push_back(with_number(i, [&] {
      const std::string& text = texts.texts[i - given];
      if (fronts.empty()) return writer.read_continuation({text});
      return Continuation{
          {}, writer.continues() ? writer.encode_continuation(text) : writer.read_output(text)};
    }));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!fronts.empty()) all[i].prompt = fronts[i];
    if (!all[i].prompt.empty()) continue;
    if (all[i].ids.size() < 2)
      throw UsageError("without a prompt the first id is not scored: at least two ids are needed");
    all[i].prompt = {all[i].ids.front()};
    all[i].ids.erase(all[i].ids.begin());
  }
  return all;
}

int run(ScoreArguments& args, const World& world) {
  on_all_ranks(world, [&] {  // reports invalid options before a file is opened
    parse_all("--prompt-ids", args.prompt_ids);
    parse_all("--continuation-ids", args.continuation_ids);
    if (!args.input.empty() && !args.continuation_ids.empty())
      throw UsageError("--input is a file of texts: leave out --continuation-ids");
  });
  const Texts texts = texts_to_score(args, world);
  const bool in_text = !args.prompts.empty() || !texts.texts.empty();
  ModelSession opened(Use::score, args.file, args.execution, world);
  const auto owned = text_generator(opened.session, *opened.model);
  TextGenerator& writer = *owned;
  if (in_text && !writer.has_tokenizer()) {
    throw UsageError(fmt::format(
        "{}: without a tokenizer, the model reads ids: give --prompt-ids and --continuation-ids",
        writer.missing_tokenizer()));
  }
  if (writer.continues() && !args.start_ids.empty())
    throw UsageError("--start-ids is for encoder-decoders: a decoder begins with its prompt");
  if (args.cached && !writer.continues())
    throw UsageError("--cached is for decoders, which read cached keys and values of the prompt");
  refuse_unused_truncation(args.truncate, writer);
  const PlaceOf place = [&](std::size_t i) { return place_of(args, texts, i); };
  std::vector<Continuation> all = with_places(place, [&] { return read_all(args, writer, texts); });
  const TokenIds start =
      writer.continues() ? TokenIds() : start_ids(args.start_ids, writer.options(), args.file);
  const SpeedReport speed;
  const std::vector<ContinuationScore> scores = with_places(place, [&] {
    return writer.score_ids(
        all, {.start = start, .cached = args.cached, .on_cut = args.truncate.on_cut()});
  });
  args.truncate.report(place, "");
  const bool as_text = in_text || writer.settings() == nullptr;
  const auto tokenizer = as_text ? std::optional(writer.tokenizer().targets()) : std::nullopt;
  const Show show = [&](std::int64_t id) {
    return as_text ? piece_of(*tokenizer, id) : std::to_string(id);
  };
  double total = 0;
  std::int64_t ids = 0, bytes = 0;
  std::size_t line = 0;  // the next line of --input
  const std::size_t given = args.continuation_ids.size() + args.continuations.size();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i >= given) {
      const std::size_t own = texts.lines[i - args.continuation_ids.size()];
      print_blank_lines(own - line, args.json);
      line = own + 1;
    }
    const TokenIds& front = writer.continues() ? all[i].prompt : start;
    const Figures figures(scores[i], as_text ? writer.text_bytes(front, all[i].ids) : 0);
    total += figures.total;
    ids += figures.ids;
    bytes += figures.bytes;
    if (args.json) {
      print_score_json(as_text ? tokenizer->decode(all[i].ids) : std::string(), figures);
    } else if (!args.input.empty()) {
      say("{} {:.5f}  perplexity {:.4f}  {}\n", kBitsPerByte, figures.bits(), figures.perplexity,
          texts.texts[i]);
    } else {
      if (i > 0) say("---\n");
      print_score(all[i].ids, scores[i], figures, show);
    }
  }
  if (args.input.empty()) return 0;
  print_blank_lines(texts.line_count - line, args.json);
  const double mean = -total / static_cast<double>(ids);
  if (!args.json) {
    say("all {} texts: {} {:.5f}, perplexity {:.4f}\n", scores.size(), kBitsPerByte,
        bits_per_byte(mean, ids, bytes), std::exp(mean));
  }
  speed.done("texts", std::ssize(scores), ids);
  return 0;
}

}  // namespace

void add_score_command(CLI::App& app, Action& action) {
  OptionList options(app, "score", "Compute the likelihood of texts under a model");
  const auto args = std::make_shared<ScoreArguments>();
  options
      .input("file", args->file,
             "a .weft file written by weft train, a Hugging Face folder, or a GGUF file")
      .required();
  const auto repeated = OptionList::Times::repeated;
  options.texts("--prompt", args->prompts, repeated,
                "text before the continuation; the prompt itself is not scored");
  options.texts("--continuation", args->continuations, repeated,
                "text to score; repeat for a batch");
  options.input("--input", args->input,
                "file with one text to score per line (- is stdin); prints the results for each "
                "text (an empty line for a blank one) and for all texts together");
  args->truncate.add(options, "the beginning of a prompt, or the end of any other text");
  options.flag("--cached", args->cached,
               "decoders: compute one id at a time with key/value caches, as in generation, which "
               "measures the effect of weft quantize --caches (slower)");
  options.flag("--json", args->json,
               "print one JSON object per line: text, bits_per_byte, perplexity, total, ids");
  options.ids("--prompt-ids", args->prompt_ids, "prompt as ids, such as \"1 2 3\"");
  options.ids("--continuation-ids", args->continuation_ids, "continuation as ids");
  options.ids("--start-ids", args->start_ids, "encoder-decoders: first ids of the output");
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run(*args, world); });
}

}  // namespace weft::program
