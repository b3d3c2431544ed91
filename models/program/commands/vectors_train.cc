#include "weft/models/program/commands/vectors_train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weft/models/fields/numbers.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/files/tensorboard_options.h"
#include "weft/models/program/limits/memory_guard.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tensorboard/event_writer.h"
#include "weft/models/text/corpus/corpus_texts.h"
#include "weft/models/vectors/train_word_vectors.h"
#include "weft/models/vectors/word2vec_file.h"
#include "weft/models/vectors/wordnet.h"

namespace weft::program {
namespace {

using Models = std::vector<VectorModel>;
constexpr auto kSkipGram = VectorModel::skip_gram, kCbow = VectorModel::cbow,
               kFastText = VectorModel::fasttext, kGlove = VectorModel::glove,
               kLsa = VectorModel::lsa;

struct TrainVectorsArguments {
  std::vector<std::string> files, pairs;
  std::string wordnet, out, tensorboard;
  bool headwords = false, binary = false, force = false;
  VectorModel model = kSkipGram;
  std::int64_t min_count = kDefaultMinCount;
  int threads = 0;
  std::optional<std::int64_t> width, window, negatives, epochs, shortest, longest, buckets;
  std::optional<double> rate, subsample, max_count, power;
  std::optional<std::uint64_t> seed;
  std::optional<std::string> matrix;
  /// Options that apply only to some models, and the models that they apply to.
  std::vector<std::pair<AddedOption, Models>> special;
};

template <class To, class From>
void set(To& to, const std::optional<From>& from) {
  if (from) to = static_cast<To>(*from);
}

void refuse_special(const TrainVectorsArguments& args) {
  for (const auto& [option, models] : args.special) {
    if (!option.given() || std::find(models.begin(), models.end(), args.model) != models.end())
      continue;
    std::vector<std::string_view> names;
    for (const VectorModel model : models) names.push_back(choice_name(model));
    throw UsageError(fmt::format("{} applies to {}, not to {}", option.name(),
                                 fmt::join(names, ", "), choice_name(args.model)));
  }
}

VectorRecipe recipe_of(const TrainVectorsArguments& args) {
  VectorRecipe recipe = default_recipe(args.model);
  NegativeSamplingOptions& sampling = recipe.sampling;
  for (std::int64_t* width : {&sampling.width, &recipe.glove.width, &recipe.lsa.width})
    set(*width, args.width);
  for (int* window : {&sampling.windows.window, &recipe.counts.window}) set(*window, args.window);
  for (int* epochs : {&sampling.epochs, &recipe.glove.epochs}) set(*epochs, args.epochs);
  for (double* rate : {&sampling.rate, &recipe.glove.rate}) set(*rate, args.rate);
  for (auto* seed : {&sampling.windows.seed, &recipe.glove.seed, &recipe.lsa.seed})
    set(*seed, args.seed);
  set(sampling.windows.negatives, args.negatives);
  set(sampling.windows.subsample, args.subsample);
  set(recipe.glove.max_count, args.max_count);
  set(recipe.lsa.power, args.power);
  if (args.matrix) recipe.matrix = parse_choice<LsaMatrix>(*args.matrix);
  if (sampling.subwords) {
    set(sampling.subwords->shortest, args.shortest);
    set(sampling.subwords->longest, args.longest);
    set(sampling.subwords->buckets, args.buckets);
    if (sampling.subwords->shortest > sampling.subwords->longest)
      throw UsageError(fmt::format("--shortest {} is greater than --longest {}",
                                   sampling.subwords->shortest, sampling.subwords->longest));
  }
  if (recipe.matrix == LsaMatrix::tf_idf && args.window)
    throw UsageError(
        "--window does not apply to --matrix tf-idf, which counts the words of whole sentences");
  return recipe;
}

WordText read_text(const TrainVectorsArguments& args) {
  WordTextBuilder builder;
  if (!args.wordnet.empty()) {
    for_each_synset(args.wordnet, [&](const WordNetEntry& entry) {
      builder.add_sentence(args.headwords ? entry.words + " " + entry.gloss : entry.gloss);
    });
  } else {
    CorpusTexts lines(find_corpus_files(args.files, {}), {.end = DocumentEnd::line});
    const double available = machine_memory();
    double bytes = 0;  // compressed files may expand to any size
    for (std::string line; lines.next(line); builder.add_sentence(line)) {
      bytes += 2 * static_cast<double>(line.size());
      if (bytes > available) {
        check_memory("a text of this size", bytes,
                     "the whole text is kept in memory, so train on a part of it");
      }
    }
  }
  return builder.finish(args.min_count);
}

// Returns the total number of n-grams in all words. Each n-gram is stored as a bucket number.
double subwords_of(const WordText& text, const SubwordOptions& options) {
  double count = 0;
  for (std::int64_t w = 0; w < text.counts.size(); ++w) {
    const std::string& word = text.counts.word(w);
    const auto characters = 2 + std::count_if(word.begin(), word.end(), [](char c) {
                              return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                            });
    for (std::int64_t n = options.shortest;
         n <= std::min<std::int64_t>(options.longest, characters); ++n)
      count += static_cast<double>(characters - n + 1);
  }
  return count;
}

// Checks that the (approximate) amount of memory needed for training is available.
void check_size(const WordText& text, const VectorRecipe& recipe) {
  double rows = static_cast<double>(text.counts.size()), width = 0, more = 0;
  switch (recipe.model) {
    case kSkipGram:
    case kCbow: rows *= 3, width = static_cast<double>(recipe.sampling.width); break;
    case kFastText:
      rows = 3 * rows + static_cast<double>(recipe.sampling.subwords->buckets);
      width = static_cast<double>(recipe.sampling.width);
      more = subwords_of(text, *recipe.sampling.subwords);
      break;
    case kGlove: rows *= 5, width = static_cast<double>(recipe.glove.width); break;
    case kLsa:  // rows and columns of the matrix to decompose
      rows += recipe.matrix == LsaMatrix::tf_idf ? static_cast<double>(text.ends.size()) : rows;
      rows *= 4, width = static_cast<double>(recipe.lsa.width);
      break;
  }
  check_memory(fmt::format("training vectors for {} words", grouped(text.counts.size())),
               4 * (rows * width + more), "reduce --width or increase --min-count");
}

// Checks the available memory while co-occurrences are being counted, because their number is not
// known in advance.
void check_counts(VectorRecipe& recipe) {
  // Each element has a count and a column. GloVe also stores its row and its position in the
  // training order; LSA needs two more matrices.
  const double bytes_each = recipe.model == kGlove ? 8 + 4 + 8 : 3 * 8;
  recipe.counts.check = [bytes_each](std::int64_t elements) {
    check_memory("counting co-occurrences", bytes_each * static_cast<double>(elements),
                 "reduce --window or increase --min-count");
  };
}

int train(const TrainVectorsArguments& args, CommandPaths paths) {
  if (args.files.empty() == args.wordnet.empty())
    throw UsageError("give either --text FILE... or --wordnet FOLDER to train on");
  if (args.headwords && args.wordnet.empty())
    throw UsageError("--headwords needs --wordnet, because it applies only to WordNet entries");
  refuse_special(args);
  VectorRecipe recipe = recipe_of(args);
  check_counts(recipe);
  const OutputFile out = paths.plan_file("--out", args.out, FileKind::vectors);
  std::optional<OutputFile> folder;
  if (!args.tensorboard.empty())
    folder = paths.plan_growing_folder("--tensorboard", args.tensorboard);
  std::vector<std::vector<WordPair>> pairs;
  for (const std::string& path : args.pairs) pairs.push_back(read_word_pairs(path));
  const WordText text = read_text(args);
  say("text      {} words in {} sentences, {} different words ({} occurrences of rarer words left "
      "out)\n",
      grouped(text.size()), grouped(std::ssize(text.ends)), grouped(text.counts.size()),
      grouped(text.rare));
  check_size(text, recipe);
  Workers workers({.threads = args.threads});
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::optional<EventWriter> events;
  if (folder) events.emplace(folder->path(), tensorboard_options(0));
  const std::string unit = recipe.model == kGlove ? "counts" : "words";
  const WordVectors vectors =
      train_word_vectors(text, recipe, workers, [&](const VectorProgress& progress) {
        if (events) {
          events->scalar("speed/" + unit + "_per_second", progress.epoch,
                         static_cast<double>(progress.items) / seconds());
          if (recipe.model == kGlove) events->scalar("loss/train", progress.epoch, progress.cost);
        }
        say("epoch     {} of {}  {} {}/s{}\n", progress.epoch, progress.epochs,
            short_number(static_cast<double>(progress.items) / seconds()), unit,
            recipe.model == kGlove ? fmt::format("  cost {:.5f}", progress.cost) : "");
      });
  say("vectors   {} of width {}, {} in {}\n", grouped(vectors.size()), vectors.width(),
      choice_name(recipe.model), short_duration(seconds()));
  write_word_vectors(out.path(), vectors, args.binary ? VectorFormat::binary : VectorFormat::text);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    say_similarity(args.pairs[i], measure_similarity(vectors, pairs[i]));
  say("wrote {}\n", args.out);
  if (!events) return 0;
  events->flush();
  return events->failed() ? 1 : 0;
}

void add_own_options(OptionList& options, TrainVectorsArguments& args) {
  const auto only = [&args](Models models, AddedOption option) {
    args.special.emplace_back(option, std::move(models));
  };
  const Models sampled = {kSkipGram, kCbow, kFastText};
  options.integer("--width", args.width, {1, 1 << 16},
                  "dimension of the vectors (default 100; lsa 200)");
  options.integer("--window", args.window, {1, 1000},
                  "number of context words on either side (default 5; glove 10)");
  options.seed("--seed", args.seed,
               "random seed; the same seed results in the same vectors (default 1)");
  only({kSkipGram, kCbow, kFastText, kGlove},
       options.integer("--epochs", args.epochs, {1, 1'000'000},
                       "number of passes over the text (glove: over the co-occurrence counts; "
                       "default 15; glove 25)"));
  only({kSkipGram, kCbow, kFastText, kGlove},
       options.output_folder("--tensorboard", args.tensorboard,
                             "write the speed and, for glove, the cost of every epoch to an event "
                             "file in this folder, for TensorBoard"));
  only({kSkipGram, kCbow, kFastText, kGlove},
       options.real("--rate", args.rate, {0, 1e3, true},
                    "initial learning rate (default 0.025; cbow and fasttext 0.1; glove 0.05)"));
  only(sampled, options.integer("--negatives", args.negatives, {1, 1000},
                                "number of negatives per positive example (default 5)"));
  only(sampled, options.real("--subsample", args.subsample, {0, 1},
                             "randomly skip words that make up a larger fraction of the text; 0 = "
                             "never (default 0.001)"));
  only({kFastText}, options.integer("--shortest", args.shortest, {1, 100},
                                    "minimum number of characters of n-grams (default 3)"));
  only({kFastText}, options.integer("--longest", args.longest, {1, 100},
                                    "maximum number of characters of n-grams (default 6)"));
  only({kFastText},
       options.integer("--buckets", args.buckets, {1, 1 << 30},
                       "number of vectors that are shared by all n-grams (default 100000)"));
  only({kGlove}, options.real("--most", args.max_count, {0, 1e9, true},
                              "counts of at least this value have the same weight (default 10)"));
  only({kLsa},
       options.choice(
           "--matrix", {"ppmi", "tf-idf"}, [&args](const std::string& name) { args.matrix = name; },
           "matrix to decompose: pointwise mutual information of nearby words (ppmi, default), or "
           "a words-by-lines matrix (tf-idf)"));
  only({kLsa},
       options.real(
           "--power", args.power, {0, 10},
           "exponent of the singular values by which the vectors are scaled (default 0.5)"));
}

}  // namespace

void say_similarity(const std::string& file, const WordSimilarity& found) {
  const std::string spearman =
      std::isnan(found.spearman) ? "undefined" : fmt::format("{:.4f}", found.spearman);
  say("Spearman  {} on {} of {} pairs of {}\n", spearman, found.covered, found.pairs, file);
}

void add_vectors_train(CLI::App& parent, Action& action) {
  OptionList options(parent, "train",
                     "Train word embeddings: skip-gram, CBOW, fastText, GloVe or LSA");
  const auto args = std::make_shared<TrainVectorsArguments>();
  options.inputs("--text", args->files,
                 "text files with one sentence per line (UTF-8, plain or compressed), files with "
                 "one JSON object per line, or folders of these");
  options.input("--wordnet", args->wordnet,
                fmt::format("folder with WordNet files, to train on their definitions (Debian "
                            "package wordnet-base: {})",
                            kWordNetFolder));
  options.flag("--headwords", args->headwords,
               "with --wordnet: add the defined words before each definition");
  options.choice(
      "--model", {"skip-gram", "cbow", "fasttext", "glove", "lsa"},
      [args](const std::string& name) { args->model = parse_choice<VectorModel>(name); },
      "training algorithm (default skip-gram)");
  options.output("--out", args->out, "file to write, in word2vec's text format").required();
  options.flag("--binary", args->binary, "write word2vec's binary format instead");
  options.flag("--force", args->force,
               "replace an existing file of another type that has this name");
  options.integer("--min-count", args->min_count, {1, 1'000'000'000},
                  "minimum number of occurrences of a word; rarer words are ignored (default 2)");
  add_own_options(options, *args);
  options.inputs("--pairs", args->pairs,
                 "files of lines \"word word score\"; evaluate the vectors in the same way as "
                 "`weft vectors evaluate`");
  options.threads(args->threads);
  options.run(action, [args, &parsed = options.command()] {
    return train(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
