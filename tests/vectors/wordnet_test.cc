// Word embeddings trained on the definitions of WordNet, compared with human similarity scores.
#include "weft/models/vectors/wordnet.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include "weft/models/vectors/train_word_vectors.h"
#include "weft/models/vectors/word_similarity.h"
#include "weft/tests/support/sanitizers.h"

namespace weft::testing {

BOOST_AUTO_TEST_SUITE(wordnet_vectors)

// The definitions are from the Debian package wordnet-base; WordSim-353 is stored next to the
// sources.
BOOST_AUTO_TEST_CASE(embeddings_trained_on_definitions_correlate_with_human_similarity) {
  const std::string file =
      std::string(WEFT_SOURCE_DIR) + "/../shared/data/wordsim/EN-WS-353-ALL.txt";
  const std::string definitions = std::string(kWordNetFolder) + "/data.noun";
  for (const std::string& needed : {file, definitions}) {
    if (std::filesystem::exists(needed)) continue;
    std::cout << "skipped: no file " << needed << "\n";
    return;
  }
  if (testing::kSanitized) {
    std::cout << "skipped: takes minutes with a sanitizer\n";
    return;
  }
  const std::vector<WordPair> pairs = read_word_pairs(file);
  WordTextBuilder builder;
  for_each_synset(kWordNetFolder, [&](const WordNetEntry& e) { builder.add_sentence(e.gloss); });
  const WordText text = builder.finish(kDefaultMinCount);
  Workers workers;
  // These training runs are shorter than the default ones, whose results are in docs/zoo.md.
  VectorRecipe lsa = default_recipe(VectorModel::lsa);
  lsa.lsa.width = 100;
  VectorRecipe skip_gram = default_recipe(VectorModel::skip_gram);
  skip_gram.sampling.epochs = 6;
  for (const VectorRecipe& recipe : {lsa, skip_gram}) {
    const WordSimilarity found =
        measure_similarity(train_word_vectors(text, recipe, workers), pairs);
    BOOST_TEST(found.covered == 336);
    BOOST_TEST(found.spearman > 0.35, choice_name(recipe.model) << ": " << found.spearman);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
