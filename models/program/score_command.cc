// weft score: how likely a model finds a text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>

#include "weft/core/error.h"
#include "weft/models/data/by_length.h"
#include "weft/models/data/text.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/generate_arguments.h"
#include "weft/models/program/json_lines.h"
#include "weft/models/program/options.h"
#include "weft/models/program/text_inputs.h"
#include "weft/models/program/writer.h"
#include "weft/models/tasks/common/bits_per_byte.h"
#include "weft/models/tokenizers/text_stream.h"

namespace weft::program {
namespace {

struct ScoreArguments {
  std::string file;
  std::vector<std::string> prompts, continuations, prompt_ids, continuation_ids;
  std::string start_ids, input;
  bool json = false;
  int threads = 0;
};

/// Prompts and continuations, as many of each.
struct Pairs {
  std::vector<TokenIds> prompts, continuations;
};

std::vector<TokenIds> parse_all(const std::string& option, const std::vector<std::string>& texts) {
  std::vector<TokenIds> ids;
  for (const std::string& text : texts) ids.push_back(parse_ids(option, text));
  return ids;
}

/// One prompt is for all continuations. Without any a decoder goes on from each one's first id.
Pairs make_pairs(Pairs given, bool decoder) {
  const std::size_t count = given.continuations.size();
  if (count == 0)
    throw UsageError(
        "what is to be scored is given by --continuation or --continuation-ids, or --input");
  if (given.prompts.empty()) {
    if (!decoder)
      throw UsageError("an encoder-decoder needs a prompt: give --prompt or --prompt-ids");
    for (TokenIds& ids : given.continuations) {
      if (ids.size() < 2)
        throw UsageError("without a prompt the first id is not scored: two are needed");
      given.prompts.push_back({ids.front()});
      ids.erase(ids.begin());
    }
  }
  if (given.prompts.size() == 1) given.prompts.resize(count, given.prompts.front());
  if (given.prompts.size() != count)
    throw UsageError(
        fmt::format("there are {} prompts for {} continuations: give one for all, or "
                    "one for each",
                    given.prompts.size(), count));
  return given;
}

/// Bytes of the text that `ids` are behind `before`.
std::int64_t text_bytes(const Tokenizer& tokenizer, const TokenIds& before, const TokenIds& ids) {
  TextStream stream(tokenizer, before);
  std::size_t bytes = 0;
  for (const std::int64_t id : ids) bytes += stream.add(id).size();
  return static_cast<std::int64_t>(bytes + stream.finish().size());
}

/// How an id is printed.
using Show = std::function<std::string(std::int64_t)>;

std::string piece_of(const Tokenizer& tokenizer, std::int64_t id) {
  std::string text = tokenizer.piece(id);
  for (std::size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "\\n");
  return text;
}

/// A text's likelihood in figures. Without a tokenizer nobody knows of how many bytes a text is.
struct Figures {
  Figures(const ContinuationScore& score, std::int64_t text_bytes)
      : total(score.total()),
        ids(std::ssize(score.log_probabilities)),
        bytes(text_bytes),
        perplexity(finite_figure(score.perplexity(), "the perplexity of a continuation")) {}
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

/// All of them, those of like length together: logits of a batch take much memory.
std::vector<ContinuationScore> score_all(const Writer& writer, const Pairs& pairs,
                                         const TokenIds& start) {
  constexpr std::size_t kBatch = 16;
  if (pairs.prompts.size() <= kBatch)
    return writer->score(pairs.prompts, pairs.continuations, start);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < pairs.prompts.size(); ++i)
    sizes.push_back(pairs.prompts[i].size() + pairs.continuations[i].size());
  const std::vector<std::size_t> order = by_length(sizes);
  std::vector<ContinuationScore> scores(order.size());
  for (std::size_t first = 0; first < order.size(); first += kBatch) {
    const auto part = std::span(order).subspan(first, std::min(kBatch, order.size() - first));
    Pairs some;
    for (const std::size_t i : part) {
      some.prompts.push_back(pairs.prompts[i]);
      some.continuations.push_back(pairs.continuations[i]);
    }
    auto found = writer->score(some.prompts, some.continuations, start);
    for (std::size_t i = 0; i < part.size(); ++i) scores[part[i]] = std::move(found[i]);
  }
  return scores;
}

/// Prompts and continuations as ids: those that are given as ids first.
Pairs read_pairs(const ScoreArguments& args, const Writer& writer, Pairs given,
                 const std::vector<std::string>& texts) {
  for (const std::string& text : args.prompts) given.prompts.push_back(writer->read(text));
  const bool goes_on = writer->continues() && !given.prompts.empty();
  for (const std::string& text : texts) {
    if (!goes_on) {
      given.continuations.push_back(writer->read_output(text));
      continue;
    }
    // Behind a prompt, a text begins with a word only where it begins with a blank.
    const Tokenizer& tokenizer = writer->tokenizer();
    const auto ids =
        writer.settings() == nullptr
            ? tokenizer.encode(text, TextPlace::middle)
            : tokenizer.encode_text(text, {.add_special = false, .place = TextPlace::middle}).ids;
    given.continuations.emplace_back(ids.begin(), ids.end());
  }
  return make_pairs(std::move(given), writer->continues());
}

std::vector<std::string> texts_to_score(const ScoreArguments& args) {
  std::vector<std::string> texts = args.continuations;
  if (args.input.empty()) return texts;
  if (!args.continuation_ids.empty())
    throw UsageError("--input is a file of texts: leave out --continuation-ids");
  for (std::string& line : lines_of(read_utf8_file(args.input))) {
    if (!line.empty()) texts.push_back(std::move(line));
  }
  if (texts.empty()) throw DataError(fmt::format("{} holds no text", args.input));
  return texts;
}

int run(const ScoreArguments& args) {
  Pairs given{parse_all("--prompt-ids", args.prompt_ids),
              parse_all("--continuation-ids", args.continuation_ids)};
  const std::vector<std::string> texts = texts_to_score(args);
  const bool in_text = !args.prompts.empty() || !texts.empty();
  const Writer writer(args.file, args.threads, true);
  if (in_text && !writer.no_tokenizer().empty()) {
    throw UsageError(fmt::format(
        "{}: without one a folder's model reads ids: give --prompt-ids and --continuation-ids",
        writer.no_tokenizer()));
  }
  if (writer->continues() && !args.start_ids.empty())
    throw UsageError("--start-ids is for encoder-decoders: a decoder begins with its prompt");
  const Pairs pairs = read_pairs(args, writer, std::move(given), texts);
  const TokenIds start = writer->continues() ? TokenIds() : writer.start_ids(args.start_ids);
  const SpeedReport speed;
  const std::vector<ContinuationScore> scores = score_all(writer, pairs, start);
  const bool as_text = in_text || writer.settings() == nullptr;
  const auto tokenizer = as_text ? std::optional(writer->tokenizer().targets()) : std::nullopt;
  const Show show = [&](std::int64_t id) {
    return as_text ? piece_of(*tokenizer, id) : std::to_string(id);
  };
  double total = 0;
  std::int64_t ids = 0, bytes = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const TokenIds front = writer->continues() ? pairs.prompts[i] : start;
    const Figures figures(scores[i],
                          as_text ? text_bytes(*tokenizer, front, pairs.continuations[i]) : 0);
    total += figures.total;
    ids += figures.ids;
    bytes += figures.bytes;
    if (args.json) {
      print_score_json(as_text ? tokenizer->decode(pairs.continuations[i]) : std::string(),
                       figures);
    } else if (!args.input.empty()) {
      say("{} {:.5f}  perplexity {:.4f}  {}\n", kBitsPerByte, figures.bits(), figures.perplexity,
          texts[i]);
    } else {
      if (i > 0) say("---\n");
      print_score(pairs.continuations[i], scores[i], figures, show);
    }
  }
  if (args.input.empty()) return 0;
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
  OptionList options(app, "score", "How likely a model finds a text");
  const auto args = std::make_shared<ScoreArguments>();
  options.input("file", args->file, "a .weft file that weft train wrote, or a Hugging Face folder")
      .required();
  const auto once_more = OptionList::Times::repeated;
  options.texts("--prompt", args->prompts, once_more, "text in front, which is not scored");
  options.texts("--continuation", args->continuations, once_more,
                "text to score; repeated: a batch");
  options.input("--input", args->input,
                "file with a text to score on each line: figures of each, and of all");
  options.flag("--json", args->json,
               "a JSON object on each line: text, bits_per_byte, perplexity, total, ids");
  options.ids("--prompt-ids", args->prompt_ids, "the same as ids, \"1 2 3\"");
  options.ids("--continuation-ids", args->continuation_ids, "the same as ids");
  options.ids("--start-ids", args->start_ids, "encoder-decoders: what the output begins with");
  options.threads(args->threads);
  options.run(action, [args] { return run(*args); });
}

}  // namespace weft::program
