// weft vectors: words as vectors.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/json_lines.h"
#include "weft/models/program/options.h"
#include "weft/models/program/vectors_train.h"
#include "weft/models/vectors/word2vec_file.h"
#include "weft/models/vectors/word_similarity.h"

namespace weft::program {
namespace {

constexpr const char* kVectorsHelp =
    "a file of word vectors in word2vec's text or binary format, as weft vectors train writes them";

struct AskArguments {
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

int nearest(const AskArguments& args) {
  const WordVectors vectors = read_word_vectors(args.file);
  for (const std::string& word : args.words) vectors.at(word);  // all, before anything is said
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

int analogy(const AskArguments& args) {
  if (args.words.size() != 3) {
    throw UsageError(fmt::format(
        "an analogy is of three words, \"man king woman\" (man is to king as woman is to ...), not "
        "{}",
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

int evaluate(const AskArguments& args) {
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

using Answer = int (*)(const AskArguments&);

// What the commands that read vectors have in common.
void add_asking(CLI::App& parent, Action& action, const std::string& name, const std::string& about,
                const std::string& words_help, Answer answer) {
  OptionList options(parent, name, about);
  const auto args = std::make_shared<AskArguments>();
  options.input("file", args->file, kVectorsHelp).required();
  if (words_help.empty()) {
    options
        .inputs("--pairs", args->pairs,
                "lines \"word word score\", as WordSim-353's: Spearman's correlation of the scores "
                "with the cosines of pairs of which both words have vectors")
        .required();
  } else {
    options.texts("words", args->words, OptionList::Times::list, words_help).required();
    options.integer("--top", args->top, {1, 1'000'000}, "words to print (default 10)");
  }
  options.flag("--json", args->json, "a JSON object on each line");
  options.run(action, [args, answer] { return answer(*args); });
}

}  // namespace

void add_vectors_command(CLI::App& app, Action& action) {
  OptionList options(app, "vectors", "Learn vectors of words, and ask what is like what");
  options.needs_command();
  add_vectors_train(options.command(), action);
  add_asking(options.command(), action, "nearest", "The words that are most like some words",
             "words whose neighbours are wanted", nearest);
  add_asking(options.command(), action, "analogy",
             "What is to one word as two others are to each other",
             "three words: the answer is to the third as the second is to the first", analogy);
  add_asking(options.command(), action, "evaluate",
             "How cosines go with what people say of how alike words are", "", evaluate);
}

}  // namespace weft::program
