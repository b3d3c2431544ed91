// Predicting the words at mask tokens.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/tasks/masked_tokens/fill.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"
#include "weft/models/tasks/tasks.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(filling)
namespace {

using Texts = std::vector<std::string>;

/// Returns the probabilities of all ids at a position, from logits [1, seq, vocab].
std::vector<double> probabilities(const Tensor& logits, std::int64_t place) {
  const std::int64_t vocab = logits.size(2);
  std::vector<double> result;
  double sum = 0;
  for (std::int64_t v = 0; v < vocab; ++v) result.push_back(std::exp(logits.at(place * vocab + v)));
  for (const double x : result) sum += x;
  for (double& x : result) x /= sum;
  return result;
}

void check_guesses(const std::vector<TokenCandidate>& guesses, const std::vector<double>& expected,
                   const Tokenizer& tokenizer) {
  for (std::size_t g = 0; g < guesses.size(); ++g) {
    BOOST_TEST(!tokenizer.is_special(guesses[g].id));
    BOOST_TEST(std::abs(guesses[g].probability -
                        expected[static_cast<std::size_t>(guesses[g].id)]) < 1e-5);
    if (g > 0) BOOST_TEST(guesses[g].probability <= guesses[g - 1].probability);
  }
  double best = 0;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) best = std::max(best, expected[static_cast<std::size_t>(id)]);
  }
  BOOST_TEST(std::abs(guesses.front().probability - best) < 1e-5);
}

BOOST_AUTO_TEST_CASE(predictions_match_the_logits_of_the_folder) {
  const Texts texts = {"the [MASK] was good", "[MASK]",
                       "she lives in [MASK] york, and the [MASK] is long"};
  for (const std::string& type : encoder_types()) {
    BOOST_TEST_CONTEXT(type) {
      const TinyFolder folder(type, "ForMaskedLM");
      const auto model = load_any_model(folder.path()).model;
      Session session(*model->graph, model->store);
      const auto found = fill(session, *model, texts, {.most = 4});
      const Tokenizer tokenizer = folder.tokenizer();
      for (std::size_t t = 0; t < texts.size(); ++t) {
        const Encoding row = folder.ids(texts[t]);
        const Tensor logits = folder.output("logits", row);
        std::size_t next = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
          if (row.ids[i] != tokenizer.mask_id()) continue;
          BOOST_TEST_REQUIRE(next < found[t].size());
          const MaskedPosition& place = found[t][next++];
          BOOST_TEST(place.begin == row.spans[i].begin);
          BOOST_TEST(place.end == row.spans[i].end);
          BOOST_TEST(place.guesses.size() == 4U);
          check_guesses(place.guesses, probabilities(logits, static_cast<std::int64_t>(i)),
                        tokenizer);
        }
        BOOST_TEST(next == found[t].size());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(models_pre_trained_by_weft_predict_masked_words) {
  const TinyFolder folder("bert", "ForMaskedLM");
  for (const PretrainingObjective objective :
       {PretrainingObjective::mlm, PretrainingObjective::mlm_nsp, PretrainingObjective::rtd}) {
    BOOST_TEST_CONTEXT(choice_name(objective)) {
      const Tokenizer tokenizer = folder.tokenizer();
      EncoderConfig config;
      config.vocab = tokenizer.vocab_size();
      config.padding_id = tokenizer.pad_id();
      config.layers = config.heads = 2;
      config.width = 16;
      config.inner = 32;
      config.context = 16;
      config.initializer_range = 0.3;
      PretrainingOptions options;
      options.objective = objective;
      PretrainingModel model = build_pretraining_model(config, tokenizer, {}, options);
      Session session(*model.graph, model.store, {.seed = 3});
      session.initialise();
      const Texts hidden = {"the [MASK] was good", "she [MASK] in a [MASK]"};
      const auto found = fill(session, model, hidden, {.most = 3});
      BOOST_TEST_REQUIRE(found.size() == 2U);
      BOOST_TEST_REQUIRE(found[1].size() == 2U);
      BOOST_TEST(found[1][1].begin == 16U);
      // A text alone gives the same predictions as in a batch.
      const auto alone = fill(session, model, {hidden[1]}, {.most = 3});
      for (std::size_t p = 0; p < 2; ++p) {
        for (std::size_t g = 0; g < 3; ++g) {
          BOOST_TEST(alone[0][p].guesses[g].id == found[1][p].guesses[g].id);
          BOOST_TEST(std::abs(alone[0][p].guesses[g].probability -
                              found[1][p].guesses[g].probability) < 1e-5);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(texts_without_a_mask_in_the_context_are_errors) {
  const TinyFolder folder("bert", "ForMaskedLM");
  const auto loaded = load_any_model(folder.path());
  Session session(*loaded.model->graph, loaded.model->store);
  const auto filled = [&](const std::string& text, const OnCut& on_cut = {}) {
    return fill(session, *loaded.model, {text}, {.on_cut = on_cut});
  };
  check_error_message<DataError>([&] { filled("the film"); },
                                 "'the film' has no mask: replace the word to predict by [MASK]");
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the ";
  check_error_message<TextError>([&] { filled(text + "[MASK]"); },
                                 "text 1: it has 63 tokens, but the model accepts at most 40");
  check_error_message<TextError>(
      [&] { filled(text + "[MASK]", ignore_truncation()); },
      "the text has 1 masks, but only 0 of them are in the first 40 tokens");
  BOOST_TEST(filled("[MASK] " + text, ignore_truncation())[0].size() == 1U);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
