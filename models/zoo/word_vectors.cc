// Trains word embeddings with five algorithms on dictionary definitions, and compares the
// similarities of the embeddings with human judgements.
//
//   zoo_word_vectors WORDSIM_FILE [WORDNET_FOLDER]
//
// WORDSIM_FILE is WordSim-353 (word pairs with human similarity scores; Finkelstein et al. 2002).
// WORDNET_FOLDER contains the WordNet data files (Debian package wordnet-base; default:
// /usr/share/wordnet). The embeddings are trained only on the definitions; the scores are used only
// for evaluation.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "weft/models/vectors/train_word_vectors.h"
#include "weft/models/vectors/word_similarity.h"
#include "weft/models/vectors/wordnet.h"
#include "weft/models/zoo/data/exit_code.h"

using namespace weft;

namespace {

/// Reads the WordNet definitions as a training text.
WordText definitions(const std::string& folder) {
  WordTextBuilder builder;
  for_each_synset(folder, [&](const WordNetEntry& entry) { builder.add_sentence(entry.gloss); });
  return builder.finish(kDefaultMinCount);
}

/// Prints the nearest neighbours of a few words.
void show_neighbours(const WordVectors& vectors) {
  for (const char* word : {"tiger", "doctor", "computer"}) {
    fmt::print("  {}:", word);
    for (const SimilarWord& similar : vectors.nearest(word, 6)) fmt::print(" {}", similar.word);
    fmt::print("\n");
  }
}

void run(const std::string& wordsim, const std::string& wordnet) {
  const std::vector<WordPair> pairs = read_word_pairs(wordsim);
  const WordText text = definitions(wordnet);
  fmt::print("{} words ({} distinct) in {} definitions\n", text.size(), text.counts.size(),
             text.ends.size());
  Workers workers;
  for (const VectorModel model : {VectorModel::skip_gram, VectorModel::cbow, VectorModel::fasttext,
                                  VectorModel::glove, VectorModel::lsa}) {
    const auto start = std::chrono::steady_clock::now();
    const WordVectors vectors = train_word_vectors(text, default_recipe(model), workers);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const WordSimilarity found = measure_similarity(vectors, pairs);
    fmt::print("{:9}  Spearman {:.4f} on {} of {} pairs  ({:.0f} s)\n", choice_name(model),
               found.spearman, found.covered, found.pairs, seconds.count());
    show_neighbours(vectors);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: zoo_word_vectors WORDSIM_FILE [WORDNET_FOLDER]\n");
    return 2;
  }
  return zoo::exit_code("word_vectors",
                        [&] { run(argv[1], argc == 3 ? argv[2] : kWordNetFolder); });
}
