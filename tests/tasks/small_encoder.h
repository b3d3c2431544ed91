// A small encoder, labelled texts and settings for tests of fine-tuning.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/models/training/settings.h"

namespace weft {

using Texts = std::vector<std::string>;

inline LabelledText data() {
  LabelledText result{{}, {}, {"ham", "spam"}};
  for (int i = 0; i < 64; ++i) {
    const bool spam = i % 3 == 0;
    result.texts.push_back((spam ? "win a free prize now call " : "see you at home then ") +
                           std::to_string(i % 7));
    result.labels.push_back(spam ? 1 : 0);
  }
  return result;
}

inline SentencePieceTokenizer tokenizer() {
  return SentencePieceTokenizer::train(data().texts, {.vocab = 60, .character_coverage = 1});
}

inline EncoderConfig small() {
  EncoderConfig config;
  config.vocab = 60;
  config.context = 16;
  config.token_types = 0;
  config.layers = 2;
  config.heads = 2;
  config.width = 16;
  config.inner = 32;
  config.hidden_dropout = 0.1;
  config.initializer_range = 0.1;
  return config;
}

inline TrainSettings settings(std::int64_t steps = 8) {
  TrainSettings s;
  s.steps = steps;
  s.batch = 4;
  s.lr = 5e-3;
  s.min_lr = 0;
  s.warmup = 2;
  s.eval_every = 3;
  s.save_every = 0;
  return s;
}

template <class Model>
void check_same_weights(const Model& a, const Model& b) {
  int compared = 0;
  for (const std::string& name : a.store->names()) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(bitwise_equal(a.store->tensor(name), b.store->tensor(name)));
    }
    ++compared;
  }
  BOOST_TEST(compared > 60);
  BOOST_TEST((a.history.train == b.history.train));
  BOOST_TEST((a.history.metrics == b.history.metrics));
}

}  // namespace weft
