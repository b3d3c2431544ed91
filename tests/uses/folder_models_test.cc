// Hugging Face folders can be used in the same way as .weft files, with the same tasks, programs
// and errors.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/tasks/text_similarity/similarity_task.h"
#include "weft/models/tasks/token_classification/token_classifier.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(folder_models)
namespace {

using Texts = std::vector<std::string>;

const Texts kTexts = {"the film was good", "bad",
                      "she lives in new york , and it was a very long and "
                      "dull film of a town .",
                      "", "mary saw the river"};

json labelled(json config, const Texts& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) config["id2label"][std::to_string(i)] = labels[i];
  return config;
}

std::vector<double> softmax_of(const Tensor& logits) {
  std::vector<double> result;
  double sum = 0;
  for (std::int64_t i = 0; i < logits.numel(); ++i) result.push_back(std::exp(logits.at(i)));
  for (const double x : result) sum += x;
  for (double& x : result) x /= sum;
  return result;
}

std::vector<std::vector<ClassScore>> classified(const std::string& path, const Texts& texts,
                                                std::int64_t most = 100) {
  const auto model = load_any_model(path).model;
  Session session(*model->graph, model->store);
  return most_likely_classes(session, *model, texts, {.most = most});
}

double score_of(const std::vector<ClassScore>& scores, const std::string& name) {
  for (const ClassScore& score : scores) {
    if (score.name == name) return score.probability;
  }
  return -1;
}

BOOST_AUTO_TEST_CASE(class_probabilities_match_the_logits) {
  const Texts labels = {"bad", "good", "so-so"};
  for (const std::string& type : encoder_types()) {
    BOOST_TEST_CONTEXT(type) {
      const TinyFolder folder(
          labelled(tiny_config(type, class_prefix(type) + "ForSequenceClassification"), labels));
      const auto found = classified(folder.path(), kTexts);
      BOOST_TEST_REQUIRE(found.size() == kTexts.size());
      for (std::size_t i = 0; i < kTexts.size(); ++i) {
        const auto expected = softmax_of(folder.output("logits", folder.ids(kTexts[i])));
        BOOST_TEST_REQUIRE(found[i].size() == labels.size());
        for (std::size_t c = 0; c < labels.size(); ++c)
          BOOST_TEST(std::abs(score_of(found[i], labels[c]) - expected[c]) < 1e-5);
        BOOST_TEST(found[i][0].probability >= found[i][1].probability);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(multi_label_classifiers_have_independent_probabilities) {
  json config = labelled(tiny_config("bert", "BertForSequenceClassification"), {"a", "b", "c"});
  config["problem_type"] = "multi_label_classification";
  const TinyFolder folder(config);
  const Tensor logits = folder.output("logits", folder.ids(kTexts[0]));
  const auto found = classified(folder.path(), {kTexts[0]})[0];
  const Texts names = {"a", "b", "c"};
  for (std::int64_t c = 0; c < 3; ++c) {
    BOOST_TEST(std::abs(score_of(found, names[static_cast<std::size_t>(c)]) -
                        1 / (1 + std::exp(-logits.at(c)))) < 1e-5);
  }
  // A single label is a binary decision. Labels without names are numbered as in Hugging Face
  // Transformers.
  json one = tiny_config("roberta", "RobertaForSequenceClassification");
  one["num_labels"] = 1;
  const TinyFolder single(one);
  const Tensor logit = single.output("logits", single.ids("bad"));
  const auto alone = classified(single.path(), {"bad"})[0];
  BOOST_TEST(alone.size() == 1U);
  BOOST_TEST(alone[0].name == "LABEL_0");
  BOOST_TEST(std::abs(alone[0].probability - 1 / (1 + std::exp(-logit.at(0)))) < 1e-5);
}

BOOST_AUTO_TEST_CASE(regression_models_score_text_pairs) {
  json config = tiny_config("bert", "BertForSequenceClassification");
  config.update({{"problem_type", "regression"}, {"num_labels", 1}});
  const TinyFolder folder(config);
  const auto [task, model, notes] = load_any_model(folder.path());
  BOOST_TEST(task.info().id == "text-similarity");
  const auto& similarity = dynamic_cast<const SimilarityModel&>(*model);
  Session session(*model->graph, model->store);
  const std::vector<ScoredPair> pairs = {{"the film was good", "a good film", 0},
                                         {"bad", "bad", 0}};
  const std::vector<double> scores = score_pairs(session, similarity, pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Encoding row = folder.ids(pairs[i].first, pairs[i].second);
    BOOST_TEST(std::abs(scores[i] - folder.output("logits", row, true).at(0)) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(folders_are_converted_to_weft_files) {
  const TinyFolder folder(
      labelled(tiny_config("bert", "BertForSequenceClassification"), {"bad", "good"}));
  const std::string file = folder.beside("converted.weft");
  save_model(file, *load_any_model(folder.path()).model);
  const auto loaded = load_any_model(file);
  BOOST_TEST(loaded.task.info().id == "text-classification");
  BOOST_TEST(!loaded.model->can_train());
  const auto before = classified(folder.path(), kTexts), after = classified(file, kTexts);
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    BOOST_TEST(before[i][0].name == after[i][0].name);
    BOOST_TEST(before[i][0].probability == after[i][0].probability);
  }
  for (const auto& [type, head, task] :
       {std::array{"roberta", "ForTokenClassification", "token-classification"},
        {"albert", "ForMaskedLM", "mlm"},
        {"electra", "ForQuestionAnswering", "span-answering"},
        {"distilbert", "Model", "text-embedding"},
        {"electra", "ForPreTraining", "text-embedding"},
        {"bert", "ForPreTraining", "mlm"}}) {
    BOOST_TEST_CONTEXT(type << head) {
      const TinyFolder other(type, head);
      save_model(file, *load_any_model(other.path()).model);
      BOOST_TEST(load_any_model(file).task.info().id == task);
    }
  }
}

BOOST_AUTO_TEST_CASE(image_classifiers_in_folders_match_their_logits) {
  const TinyFolder folder(labelled({{"model_type", "vit"},
                                    {"architectures", {"ViTForImageClassification"}},
                                    {"hidden_size", 16},
                                    {"num_hidden_layers", 2},
                                    {"num_attention_heads", 2},
                                    {"intermediate_size", 32},
                                    {"image_size", 6},
                                    {"patch_size", 3},
                                    {"num_channels", 1},
                                    {"initializer_range", 0.4}},
                                   {"cat", "dog"}),
                          false);
  check_error_message<FormatError>(
      [&] { load_any_model(folder.path()); },
      "holds no preprocessor_config.json, which specifies how the pixels of a "
      "ViTForImageClassification are normalised");
  folder.write("preprocessor_config.json", R"({"image_mean": [0.5], "image_std": [0.25]})");
  const auto [task, model, notes] = load_any_model(folder.path());
  BOOST_TEST(task.info().id == "image-classification");
  Session session(*model->graph, model->store);
  std::vector<float> pixels(36), seen;
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 7 % 36) / 36;
  for (const float x : pixels) seen.push_back((x - 0.5F) / 0.25F);
  const Tensor found = session.run(model->program("classify"),
                                   {{"images", Tensor::of({1, 1, 6, 6}, pixels)}})["probabilities"];
  Graph graph;
  const hf::Folder read = hf::read_folder(folder.path());
  const hf::Model reference =
      hf::build_model(graph, read.config, {{"pixel_values", {DType::f32, {1, 1, 6, 6}}}});
  Session other(graph, hf::load_weights(reference, graph, read));
  const Tensor logits = other.run(Program("run").output("out", reference.outputs.at("logits")),
                                  {{"pixel_values", Tensor::of({1, 1, 6, 6}, seen)}})["out"];
  const auto expected = softmax_of(logits);
  for (std::int64_t c = 0; c < 2; ++c)
    BOOST_TEST(std::abs(found.at(c) - expected[static_cast<std::size_t>(c)]) < 1e-5);
}

BOOST_AUTO_TEST_CASE(errors_state_the_problem_and_the_supported_commands) {
  const TinyFolder without_tokenizer(tiny_config("bert", "BertForSequenceClassification"), false);
  check_error_message<FormatError>(
      [&] { load_any_model(without_tokenizer.path()); },
      without_tokenizer.path() + " has no tokenizer: it contains none of tokenizer.json");
  const TinyFolder small("bert", "ForMaskedLM");
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + "\n";
  small.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + words);
  check_error_message<ArgumentError>(
      [&] { load_any_model(small.path()); },
      small.path() +
          ": the tokenizer has 65 ids, but the model's embedding table has 48 rows: they do not "
          "belong together");
  const TinyFolder pixels({{"model_type", "vit"},
                           {"architectures", {"ViTForMaskedImageModeling"}},
                           {"hidden_size", 16},
                           {"num_hidden_layers", 1},
                           {"num_attention_heads", 2},
                           {"intermediate_size", 32},
                           {"image_size", 6},
                           {"patch_size", 3},
                           {"encoder_stride", 3},
                           {"num_channels", 1}},
                          false);
  check_error_message<FormatError>(
      [&] { load_any_model(pixels.path()); },
      "holds no preprocessor_config.json, which specifies how the pixels of a "
      "ViTForMaskedImageModeling are normalised");
  const TinyFolder audio({{"model_type", "whisper"},
                          {"architectures", {"WhisperForAudioClassification"}},
                          {"vocab_size", 48},
                          {"d_model", 16},
                          {"num_mel_bins", 8},
                          {"encoder_layers", 1},
                          {"decoder_layers", 1},
                          {"encoder_attention_heads", 2},
                          {"decoder_attention_heads", 2},
                          {"encoder_ffn_dim", 32},
                          {"decoder_ffn_dim", 32},
                          {"max_source_positions", 10},
                          {"pad_token_id", 0},
                          {"decoder_start_token_id", 1}},
                         false);
  check_error_message<FormatError>(
      [&] { load_any_model(audio.path()); },
      "holds a WhisperForAudioClassification, which is not supported; supported classes are ");
  const TinyFolder tagger("bert", "ForTokenClassification");
  const auto model = load_any_model(tagger.path()).model;
  Session session(*model->graph, model->store);
  check_error_message<FormatError>(
      [&] { most_likely_classes(session, *model, {"the film"}); },
      "the model is a word tagger, which does not classify; use it with weft "
      "tag, weft embed");
  check_error_message<FormatError>([&] { fill(session, *model, {"the [MASK]"}); },
                                   "is a word tagger, which does not predict masked words");
  check_error_message<FormatError>(
      [&] {
        answer(session, *model, {{"who ?", "mary"}});
      },
      "is a word tagger, which does not answer questions");
  check_error_message<FormatError>(
      [&] { load_model_for(Use::translate, tagger.path()); },
      tagger.path() + " holds a word tagger, which does not translate");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
