// weft score: how likely a model finds a text.
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>

#include "weft/core/error.h"
#include "weft/models/generate/score.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/folder_model.h"
#include "weft/models/program/generate_arguments.h"
#include "weft/models/program/options.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/tokenizers/text_stream.h"

namespace weft::program {
namespace {

struct ScoreArguments {
  std::string file;
  std::vector<std::string> prompts, continuations, prompt_ids, continuation_ids;
  std::string start_ids;
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
    throw UsageError("what is to be scored is given by --continuation or --continuation-ids");
  if (given.prompts.empty()) {
    if (!decoder) throw UsageError("an encoder-decoder needs a prompt: give --prompt-ids");
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

/// `show` is how an id is printed. Without a tokenizer nobody knows of how many bytes a text is.
template <class Show>
void print(const Pairs& pairs, const std::vector<ContinuationScore>& scores, Show&& show,
           const Tokenizer* tokenizer = nullptr) {
  for (const ContinuationScore& score : scores)
    finite_figure(score.perplexity(), "the perplexity of a continuation");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const ContinuationScore& score = scores[i];
    if (i > 0) say("---\n");
    for (std::size_t j = 0; j < score.log_probabilities.size(); ++j)
      say("{:<10} {:12.6f}\n", show(pairs.continuations[i][j]), score.log_probabilities[j]);
    const TokenIds& ids = pairs.continuations[i];
    const std::int64_t bytes =
        tokenizer == nullptr ? 0 : text_bytes(*tokenizer, pairs.prompts[i], ids);
    if (bytes > 0) {
      say("{} {:.5f}\n", kBitsPerByte,
          bits_per_byte(-score.total() / static_cast<double>(ids.size()), std::ssize(ids), bytes));
    }
    say("total      {:12.6f} of {} ids, perplexity {:.4f}\n", score.total(),
        score.log_probabilities.size(), score.perplexity());
  }
}

int score_folder(const ScoreArguments& args) {
  if (!args.prompts.empty() || !args.continuations.empty())
    throw UsageError("a folder's model reads ids: give --prompt-ids and --continuation-ids");
  const hf::Folder folder = hf::read_folder(args.file);
  const bool decoder = is_decoder(folder);
  const Pairs pairs = make_pairs({parse_all("--prompt-ids", args.prompt_ids),
                                  parse_all("--continuation-ids", args.continuation_ids)},
                                 decoder);
  const auto show = [](std::int64_t id) { return std::to_string(id); };
  if (decoder) {
    if (!args.start_ids.empty())
      throw UsageError("--start-ids is for encoder-decoders: a decoder begins with its prompt");
    const DecoderModel model(folder, args.threads);
    print(pairs,
          score(*model.session, model.score, model.config, pairs.prompts, pairs.continuations),
          show);
  } else {
    const TokenIds start =
        start_ids(folder, hf::read_generation_config(folder).start_id, args.start_ids);
    const EncoderDecoderModel model(folder, args.threads);
    print(pairs, score(*model.session, model.score, start, pairs.prompts, pairs.continuations),
          show);
  }
  return 0;
}

int score_text(const ScoreArguments& args) {
  if (!args.start_ids.empty())
    throw UsageError("--start-ids is for encoder-decoders: a decoder begins with its prompt");
  const LanguageModel model = load_model<LanguageModel>(args.file);
  if (!model.has_program("score"))
    throw FormatError(fmt::format(
        "{} was written before there was scoring: weft train --resume writes it anew", args.file));
  const auto encode = [&](std::vector<TokenIds>& ids, const std::vector<std::string>& texts,
                          TextPlace place) {
    for (const std::string& text : texts) {
      const auto tokens = model.tokenizer.encode(text, place);
      ids.emplace_back(tokens.begin(), tokens.end());
    }
  };
  Pairs given{parse_all("--prompt-ids", args.prompt_ids),
              parse_all("--continuation-ids", args.continuation_ids)};
  encode(given.prompts, args.prompts, TextPlace::beginning);
  // Behind a prompt, a text begins with a word only where it begins with a blank.
  encode(given.continuations, args.continuations,
         given.prompts.empty() ? TextPlace::beginning : TextPlace::middle);
  const Pairs pairs = make_pairs(std::move(given), true);
  Session session(*model.graph, model.store, {.threads = args.threads});
  print(
      pairs,
      score(session, model.program("score"), model.config, pairs.prompts, pairs.continuations),
      [&](std::int64_t id) {
        std::string text = model.tokenizer.piece(id);
        for (std::size_t at; (at = text.find('\n')) != std::string::npos;)
          text.replace(at, 1, "\\n");
        return text;
      },
      &model.tokenizer);
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
  options.ids("--prompt-ids", args->prompt_ids, "the same as ids, \"1 2 3\"");
  options.ids("--continuation-ids", args->continuation_ids, "the same as ids");
  options.ids("--start-ids", args->start_ids,
              "encoder-decoder folders: what the output begins with");
  options.threads(args->threads);
  options.run(action, [args] {
    return std::filesystem::is_directory(args->file) ? score_folder(*args) : score_text(*args);
  });
}

}  // namespace weft::program
