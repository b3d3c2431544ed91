// Computing text embeddings.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"
#include "weft/models/tasks/tasks.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(embeddings)
namespace {

using Texts = std::vector<std::string>;

const Texts kTexts = {"the film was good",
                      "bad",
                      "",
                      "she lives in new york , and it was a very long and dull film of a town .",
                      "mary saw the river",
                      "he saw bob and anna",
                      "the film was bad"};

/// Returns the embeddings of `texts`, computed by the model at `path`.
Tensor embedded(const std::string& path, const Texts& texts, const EmbedOptions& options = {}) {
  const auto encoder = text_encoder(*load_any_model(path).model);
  Session session(*encoder->graph, encoder->store);
  return embed(session, *encoder, texts, options);
}

/// Pools the last hidden states [1, seq, width] according to the options.
std::vector<double> pooled(const Tensor& h, TextPooling pooling, bool normalise) {
  std::vector<double> result(static_cast<std::size_t>(h.size(2)), 0);
  const std::int64_t rows = pooling == TextPooling::cls ? 1 : h.size(1);
  for (std::int64_t i = 0; i < rows * h.size(2); ++i)
    result[static_cast<std::size_t>(i % h.size(2))] += h.at(i) / static_cast<double>(rows);
  double length = 0;
  for (const double x : result) length += x * x;
  for (double& x : result) x /= normalise ? std::sqrt(length) : 1;
  return result;
}

double difference(const Tensor& vectors, std::int64_t row, const std::vector<double>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double found = vectors.at(row * vectors.size(1) + static_cast<std::int64_t>(i));
    largest = std::max(largest, std::abs(found - expected[i]));
  }
  return largest;
}

BOOST_AUTO_TEST_CASE(embeddings_match_the_hidden_states_for_all_encoders) {
  for (const std::string& type : encoder_types()) {
    for (const char* head : {"Model", "ForSequenceClassification", "ForMaskedLM",
                             "ForTokenClassification", "ForQuestionAnswering"}) {
      if (head == std::string("ForQuestionAnswering") && !answers_questions(type)) continue;
      if (has_default_global_attention(type, head)) continue;
      BOOST_TEST_CONTEXT(type << head) {
        const TinyFolder folder(type, head);
        const Tensor found = embedded(folder.path(), kTexts);
        BOOST_TEST((found.sizes() == Sizes{std::ssize(kTexts), 16}));
        for (std::size_t i = 0; i < kTexts.size(); ++i) {
          const Tensor h = folder.output("last_hidden_state", folder.ids(kTexts[i]));
          BOOST_TEST(difference(found, static_cast<std::int64_t>(i),
                                pooled(h, TextPooling::mean, true)) < 1e-5);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(pooling_and_normalisation_follow_the_options) {
  const TinyFolder folder("roberta", "Model");
  const Tensor h = folder.output("last_hidden_state", folder.ids(kTexts[3]));
  for (const bool normalise : {false, true}) {
    for (const TextPooling pooling : {TextPooling::mean, TextPooling::cls}) {
      const Tensor found =
          embedded(folder.path(), {kTexts[3]}, {.pooling = pooling, .normalise = normalise});
      BOOST_TEST(difference(found, 0, pooled(h, pooling, normalise)) < 1e-5);
    }
  }
  // A file in the folder can configure the pooling.
  folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  BOOST_TEST(difference(embedded(folder.path(), {kTexts[3]}), 0,
                        pooled(h, TextPooling::cls, true)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(unsupported_pooling_and_modules_are_rejected) {
  const TinyFolder folder("bert", "Model");
  folder.write("1_Pooling/config.json",
               R"({"word_embedding_dimension": 16, "pooling_mode_median_tokens": true})");
  check_error_message<ArgumentError>(
      [&] { load_any_model(folder.path()); },
      "1_Pooling/config.json: unknown key pooling_mode_median_tokens = true");
  folder.write("1_Pooling/config.json",
               R"({"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true})");
  const auto modules = [&](const std::string& last) {
    const std::string kind = R"({"type": "sentence_transformers.models.)";
    folder.write("modules.json",
                 "[" + kind + "Transformer\"}, " + kind + "Pooling\"}, " + kind + last + "\"}]");
  };
  modules("Normalize");
  static_cast<void>(load_any_model(folder.path()));
  modules("Dense");
  check_error_message<FormatError>([&] { load_any_model(folder.path()); },
                                   "2_Dense/config.json is missing");
  modules("LSTM");
  check_error_message<ArgumentError>(
      [&] { load_any_model(folder.path()); },
      "modules.json: the module \"sentence_transformers.models.LSTM\" is not supported; supported "
      "are the modules Transformer (first), Pooling, Dense, LayerNorm, Dropout and Normalize");
  folder.write("modules.json", "{}");
  check_error_message<FormatError>([&] { load_any_model(folder.path()); },
                                   "is not a list of modules");
}

BOOST_AUTO_TEST_CASE(embeddings_do_not_depend_on_the_batch) {
  const TinyFolder folder("bert", "Model");
  const Tensor all = embedded(folder.path(), kTexts);
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    const Tensor alone = embedded(folder.path(), {kTexts[i]}, {.batch_tokens = 1});
    std::vector<double> expected;
    for (std::int64_t k = 0; k < 16; ++k) expected.push_back(alone.at(k));
    BOOST_TEST(difference(all, static_cast<std::int64_t>(i), expected) < 1e-5);
  }
}

/// Returns the embeddings of `texts` without the program for texts without padding, as in files of
/// earlier versions.
Tensor embedded_with_padding(const TinyFolder& folder, const EmbedOptions& options) {
  const auto encoder = text_encoder(*load_any_model(folder.path()).model);
  BOOST_REQUIRE(encoder->programs.erase(kUnpaddedProgram) == 1);
  Session session(*encoder->graph, encoder->store);
  return embed(session, *encoder, kTexts, options);
}

BOOST_AUTO_TEST_CASE(vectors_without_padding_equal_those_with_padding) {
  for (const char* type : {"bert", "roberta", "distilbert", "albert", "electra"}) {
    const TinyFolder folder(type, "Model");
    for (const std::string_view name : choice_names(TextPooling{}).names) {
      for (const std::int64_t tokens : {1, 20, 4096}) {
        const EmbedOptions options{.pooling = parse_choice<TextPooling>(name),
                                   .batch_tokens = tokens};
        const Tensor found = embedded(folder.path(), kTexts, options);
        const Tensor expected = embedded_with_padding(folder, options);
        for (std::int64_t i = 0; i < found.numel(); ++i)
          BOOST_TEST(std::abs(found.at(i) - expected.at(i)) < 1e-5, type << " " << name);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(encoders_that_need_padding_have_no_program_without_it) {
  const TinyFolder folder("deberta-v2", "Model");
  BOOST_TEST(!text_encoder(*load_any_model(folder.path()).model)->has_program(kUnpaddedProgram));
}

BOOST_AUTO_TEST_CASE(models_trained_or_quantised_by_weft_can_embed_texts) {
  const TinyFolder folder("bert", "ForMaskedLM");
  EncoderConfig config;
  const Tokenizer tokenizer = folder.tokenizer();
  config.vocab = tokenizer.vocab_size();
  config.padding_id = tokenizer.pad_id();
  config.layers = config.heads = 2;
  config.width = 16;
  config.inner = 32;
  config.context = 24;
  config.initializer_range = 0.3;
  PretrainingModel model = build_pretraining_model(config, tokenizer, {}, {});
  Session(*model.graph, model.store, {.seed = 3}).initialise();
  model.programs.erase("train");
  const std::string file = folder.beside("mlm.weft");
  save_model(file, model);
  const Tensor whole = embedded(file, kTexts);
  QuantizedModel made = quantize(model.all_programs(), *model.store, {});
  model.replace_programs(made.graph, made.programs);
  model.store = made.store;
  const std::string small = folder.beside("small.weft");
  save_model(small, model);
  const Tensor from_quantised = embedded(small, kTexts);
  for (std::int64_t i = 0; i < std::ssize(kTexts); ++i) {
    double cosine = 0;
    for (std::int64_t k = 0; k < 16; ++k)
      cosine += whole.at(i * 16 + k) * from_quantised.at(i * 16 + k);
    BOOST_TEST(cosine > 0.99);
    BOOST_TEST(cosine < 1 - 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(the_most_similar_rows_are_found) {
  const Tensor rows = Tensor::of({4, 2}, {1.F, 0.F, 0.F, 2.F, 3.F, 3.F, 0.F, 0.F});
  const auto found = most_similar(Tensor::of({2, 2}, {2.F, 0.F, 0.F, -1.F}), rows, 3);
  BOOST_TEST(found[0][0].row == 0);
  BOOST_TEST(std::abs(found[0][0].cosine - 1) < 1e-12);
  BOOST_TEST(found[0][1].row == 2);
  BOOST_TEST(std::abs(found[0][1].cosine - std::sqrt(0.5)) < 1e-7);
  BOOST_TEST(found[1][0].row == 0);  // ties keep the row order: an orthogonal row and the zero row
  BOOST_TEST(found[1][1].row == 3);
  check_error_message<ShapeError>(
      [&] {
        most_similar(Tensor::of({1, 1}, {2.F}), rows, 3);
      },
      "both must have the same width");
}

BOOST_AUTO_TEST_CASE(batches_contain_rows_of_similar_length) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 500; ++i) lengths.push_back(1 + i * 37 % 90);
  lengths.push_back(5000);
  std::vector<bool> seen(lengths.size());
  std::size_t padding = 0, tokens = 0;
  for (const auto& batch : batches_by_tokens(lengths, 1024)) {
    const std::size_t longest = lengths[batch.front()];
    BOOST_TEST((longest * batch.size() <= 1024 || batch.size() == 1));
    for (const std::size_t i : batch) {
      BOOST_TEST(!seen[i]);
      seen[i] = true;
      padding += longest - lengths[i];
      tokens += lengths[i];
    }
  }
  BOOST_TEST(std::count(seen.begin(), seen.end(), true) == std::ssize(seen));
  BOOST_TEST(padding < tokens / 16);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
