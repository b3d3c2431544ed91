// Classifying, tagging and scoring texts without padding: the results equal those with padding,
// which files of earlier versions compute.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tiny_folder.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/tasks/text_ranking/rerank.h"
#include "weft/models/tasks/token_classification/token_classifier.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(unpadded_tasks)
namespace {

const std::vector<std::string> kUnpaddedTexts = {
    "the film was good", "bad", "she lives in new york , and it was a very long film of a town .",
    "mary saw the river", "he saw bob and anna"};

/// Removes the programs without padding, which files of earlier versions lack, and returns their
/// number.
std::size_t keep_padded_programs(TrainedModel& model) {
  return std::erase_if(model.programs,
                       [](const auto& one) { return one.first.ends_with(kUnpaddedEnding); });
}

std::vector<double> class_probabilities(const TextClassifier& model) {
  std::vector<double> all;
  for (const Classified& found : classify(model, kUnpaddedTexts, 2))
    all.insert(all.end(), found.probabilities.begin(), found.probabilities.end());
  return all;
}

std::vector<double> tag_scores(const TokenClassifier& model) {
  Session session(*model.graph, model.store, {.seed = model.settings.seed});
  std::vector<double> all;
  for (const TaggedText& text : tag_texts(session, model, kUnpaddedTexts)) {
    for (const TaggedWord& word : text.words) all.push_back(word.score);
  }
  return all;
}

/// Checks that two lists of scores are equal within rounding.
void check_equal_scores(const std::vector<double>& found, const std::vector<double>& expected) {
  BOOST_TEST_REQUIRE(found.size() == expected.size());
  BOOST_TEST_REQUIRE(!found.empty());
  for (std::size_t i = 0; i < found.size(); ++i)
    BOOST_TEST(std::abs(found[i] - expected[i]) < 1e-5);
}

template <class Model>
Model& as_model(TrainedModel& model) {
  return dynamic_cast<Model&>(model);
}

EncoderConfig trained_config(const Tokenizer& tokenizer) {
  EncoderConfig config;
  config.vocab = tokenizer.vocab_size();
  config.padding_id = tokenizer.pad_id();
  config.layers = config.heads = 2;
  config.width = 16;
  config.inner = 32;
  config.context = 40;
  config.initializer_range = 0.4;
  return config;
}

BOOST_AUTO_TEST_CASE(classes_and_pair_scores_without_padding_equal_those_with_padding) {
  for (const char* type : {"bert", "roberta", "albert", "modernbert", "eurobert"}) {
    BOOST_TEST_CONTEXT(type) {
      const TinyFolder folder(type, "ForSequenceClassification");
      const auto loaded = load_any_model(folder.path()).model;
      auto& model = as_model<TextClassifier>(*loaded);
      const auto pairs = [&] {
        std::vector<PairTexts> all;
        for (const std::string& text : kUnpaddedTexts) all.push_back({"who was good ?", text});
        Session session(*model.graph, model.store);
        std::vector<double> scores;
        for (const auto& row : pair_scores(session, model, all))
          scores.insert(scores.end(), row.begin(), row.end());
        return scores;
      };
      const auto classes = class_probabilities(model), scores = pairs();
      BOOST_TEST(keep_padded_programs(model) == 2U);
      check_equal_scores(classes, class_probabilities(model));
      check_equal_scores(scores, pairs());
    }
  }
}

BOOST_AUTO_TEST_CASE(tags_without_padding_equal_those_with_padding) {
  for (const char* type : {"bert", "roberta", "modernbert"}) {
    BOOST_TEST_CONTEXT(type) {
      const TinyFolder folder(type, "ForTokenClassification");
      const auto loaded = load_any_model(folder.path()).model;
      auto& model = as_model<TokenClassifier>(*loaded);
      const auto found = tag_scores(model);
      BOOST_TEST(keep_padded_programs(model) == 1U);
      check_equal_scores(found, tag_scores(model));
    }
  }
}

BOOST_AUTO_TEST_CASE(models_of_weft_give_the_same_results_without_padding) {
  const Tokenizer tokenizer = TinyFolder("bert", "Model").tokenizer();
  const EncoderConfig config = trained_config(tokenizer);
  for (const Summary summary : {Summary::cls, Summary::mean, Summary::max}) {
    TextClassifier model =
        build_text_classifier(config, tokenizer, {"a", "b", "c"}, {}, {.summary = summary});
    Session(*model.graph, model.store, {.seed = 3}).initialise();
    const auto found = class_probabilities(model);
    BOOST_TEST(keep_padded_programs(model) == 1U);
    check_equal_scores(found, class_probabilities(model));
  }
  TokenClassifier tagger = build_token_classifier(config, tokenizer, {"O", "B-x", "I-x"}, {});
  Session(*tagger.graph, tagger.store, {.seed = 3}).initialise();
  const auto found = tag_scores(tagger);
  BOOST_TEST(keep_padded_programs(tagger) == 1U);
  check_equal_scores(found, tag_scores(tagger));
}

BOOST_AUTO_TEST_CASE(encoders_that_need_padding_have_no_programs_without_it) {
  const TinyFolder folder("deberta-v2", "ForSequenceClassification");
  BOOST_TEST(keep_padded_programs(*load_any_model(folder.path()).model) == 0U);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
