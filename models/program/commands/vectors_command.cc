// weft vectors: trains and queries word embeddings.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/vectors_train.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/vectors/word2vec_file.h"
#include "weft/models/vectors/word_similarity.h"

namespace weft::program {
namespace {

constexpr const char* kVectorsHelp =
    "file of word embeddings in word2vec's text or binary format, as written by weft vectors train";

struct QueryArguments {
  std::string file;
  std::vector<std::string> words, pairs;
  std::int64_t top = 10;
  bool json = false;
};

JsonLine json_of(const std::vector<SimilarWord>& found) {
  JsonLine all = JsonLine::array();
  for (const SimilarWord& similar : found)
    all.push_back({{"word", similar.word}, {"cosine", rounded(similar.cosine)}});
  return all;
}

void say_words(const std::vector<SimilarWord>& found) {
  for (const SimilarWord& similar : found) say("  {:.4f}  {}\n", similar.cosine, similar.word);
}

int nearest(const QueryArguments& args) {
  const WordVectors vectors = read_word_vectors(args.file);
  for (const std::string& word : args.words)
    vectors.at(word);  // check all words before printing anything
  for (const std::string& word : args.words) {
    const std::vector<SimilarWord> found = vectors.nearest(word, args.top);
    if (args.json) {
      say_json({{"word", word}, {"nearest", json_of(found)}});
    } else {
      say("{}\n", word);
      say_words(found);
    }
  }
  return 0;
}

int analogy(const QueryArguments& args) {
  if (args.words.size() != 3) {
    throw UsageError(
        fmt::format("an analogy needs three words, \"man king woman\" (man is to king as woman is "
                    "to ...), not {}",
                    args.words.size()));
  }
  const WordVectors vectors = read_word_vectors(args.file);
  const std::vector<std::string>& w = args.words;
  const std::vector<SimilarWord> found = vectors.analogy(w[0], w[1], w[2], args.top);
  if (args.json) {
    say_json({{"words", w}, {"nearest", json_of(found)}});
  } else {
    say("{} is to {} as {} is to\n", w[0], w[1], w[2]);
    say_words(found);
  }
  return 0;
}

int evaluate(const QueryArguments& args) {
  std::vector<std::vector<WordPair>> pairs;
  for (const std::string& path : args.pairs) pairs.push_back(read_word_pairs(path));
  const WordVectors vectors = read_word_vectors(args.file);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const WordSimilarity found = measure_similarity(vectors, pairs[i]);
    if (args.json) {
      say_json({{"pairs", args.pairs[i]},
                {"spearman", rounded(found.spearman)},
                {"covered", found.covered},
                {"of", found.pairs}});
    } else {
      say_similarity(args.pairs[i], found);
    }
  }
  return 0;
}

using Answer = int (*)(const QueryArguments&);

// Adds a command that queries word embeddings.
void add_query_command(CLI::App& parent, Action& action, const std::string& name,
                       const std::string& about, const std::string& words_help, Answer answer) {
  OptionList options(parent, name, about);
  const auto args = std::make_shared<QueryArguments>();
  options.input("file", args->file, kVectorsHelp).required();
  if (words_help.empty()) {
    options
        .inputs(
            "--pairs", args->pairs,
            "files of lines \"word word score\", as in WordSim-353; prints Spearman's correlation "
            "between the scores and the cosines, over the pairs for which both words have vectors")
        .required();
  } else {
    options.texts("words", args->words, OptionList::Times::list, words_help).required();
    options.integer("--top", args->top, {1, 1'000'000}, "number of words to print (default 10)");
  }
  options.flag("--json", args->json, "print one JSON object per line");
  options.run(action, [args, answer] { return answer(*args); });
}

}  // namespace

void add_vectors_command(CLI::App& app, Action& action) {
  OptionList options(app, "vectors", "Train word embeddings, and query them");
  options.needs_command();
  add_vectors_train(options.command(), action);
  add_query_command(options.command(), action, "nearest",
                    "Find the words that are most similar to given words",
                    "words for which to find the nearest neighbours", nearest);
  add_query_command(options.command(), action, "analogy",
                    "Complete an analogy: A is to B as C is to ...", "three words A, B and C",
                    analogy);
  add_query_command(options.command(), action, "evaluate",
                    "Compare cosines with human ratings of word similarity", "", evaluate);
}

}  // namespace weft::program
