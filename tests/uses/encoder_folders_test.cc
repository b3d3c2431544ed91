// Encoders and their heads exported as Hugging Face folders.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "folder_round_trip.h"
#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/hf/export.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/tasks/text_similarity/similarity_task.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(encoder_folders)
namespace {

using testing::check_round_trip;
using testing::check_same_folder;
namespace fs = std::filesystem;

const std::vector<std::string> kTexts = {"the film was good", "", "mary saw new york , anna's!"};

/// Returns a config in which the number of embedding rows equals the vocabulary size, so that
/// fine-tuning keeps the embedding.
json exact_config(const std::string& type, const std::string& head) {
  json config = tiny_config(type, class_prefix(type) + head);
  config["vocab_size"] = tiny_words().size();
  return config;
}

void succeeds(const Outcome& outcome) {
  BOOST_TEST_CONTEXT(outcome.out << outcome.err) { BOOST_TEST_REQUIRE(outcome.code == 0); }
}

BOOST_AUTO_TEST_CASE(every_encoder_class_round_trips) {
  for (const std::string& type : encoder_types()) {
    for (const char* head : {"ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
                             "ForQuestionAnswering", "Model"}) {
      if (head == std::string("ForQuestionAnswering") && !answers_questions(type)) continue;
      BOOST_TEST_CONTEXT(type << head) {
        const TinyFolder folder(type, head);
        check_round_trip(folder.path(), kTexts);
      }
    }
  }
  for (const auto& [type, head] : {std::pair{"bert", "ForPreTraining"},
                                   {"albert", "ForPreTraining"},
                                   {"electra", "ForPreTraining"},
                                   {"bert", "ForNextSentencePrediction"}}) {
    BOOST_TEST_CONTEXT(type << head) {
      const TinyFolder folder(type, head);
      save_folder(folder.beside("again"), *load_any_model(folder.path()).model);
      check_same_folder(folder.beside("again"), folder.path(), kTexts);
    }
  }
}

BOOST_AUTO_TEST_CASE(labels_and_layer_settings_round_trip) {
  json named = tiny_config("bert", "BertForSequenceClassification");
  named["id2label"] = {{"0", "bad"}, {"1", "good"}, {"2", "so-so"}};
  named["label2id"] = {{"bad", 0}, {"good", 1}, {"so-so", 2}};
  named["problem_type"] = "multi_label_classification";
  json scored = tiny_config("roberta", "RobertaForSequenceClassification");
  scored.update({{"problem_type", "regression"}, {"num_labels", 1}});
  json one = tiny_config("distilbert", "DistilBertForSequenceClassification");
  one.update({{"num_labels", 1}, {"sinusoidal_pos_embds", true}});
  json relative = tiny_config("bert", "BertForMaskedLM");
  relative.update({{"position_embedding_type", "relative_key_query"},
                   {"hidden_act", "gelu_pytorch_tanh"},
                   {"tie_word_embeddings", false},
                   {"finetuning_task", "none"}});
  json third = tiny_config("deberta-v2", "DebertaV2ForSequenceClassification");
  third.update({{"position_buckets", 8},
                {"share_att_key", true},
                {"norm_rel_ebd", "layer_norm"},
                {"conv_kernel_size", 3},
                {"conv_act", "gelu"},
                {"max_relative_positions", -1},
                {"pooler_hidden_act", "relu"},
                {"pos_att_type", {"p2c", "c2p"}}});
  json shared = tiny_config("albert", "AlbertForTokenClassification");
  shared.update({{"num_hidden_groups", 2}, {"num_hidden_layers", 4}});
  // With relative positions, the absolute position embeddings are unused, so .weft files do not
  // contain them.
  const TinyFolder folder(relative);
  const auto loaded = load_any_model(folder.path());
  save_folder(folder.beside("again"), *loaded.model);
  check_same_folder(folder.beside("again"), folder.path(), kTexts);
  save_model(folder.beside("m.weft"), *loaded.model);
  save_folder(folder.beside("file"), *load_any_model(folder.beside("m.weft")).model);
  testing::check_same_tensors(testing::outputs_of(hf::read_folder(folder.beside("file"))),
                              testing::outputs_of(hf::read_folder(folder.path())));
  for (const json& config : {named, scored, one, third, shared}) {
    BOOST_TEST_CONTEXT(config.dump()) {
      const TinyFolder folder(config);
      check_round_trip(folder.path(), kTexts);
    }
  }
}

/// Returns the class probabilities that the classifier in a file or folder computes for some texts.
std::vector<double> scores(const std::string& path) {
  const auto model = load_any_model(path).model;
  Session session(*model->graph, model->store, {.threads = 1});
  std::vector<double> all;
  for (const auto& found : most_likely_classes(session, *model, kTexts, {.most = 10})) {
    for (const ClassScore& score : found) all.push_back(score.probability);
  }
  return all;
}

void check_close(const std::vector<double>& found, const std::vector<double>& expected) {
  BOOST_TEST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    BOOST_TEST(std::abs(found[i] - expected[i]) < 1e-5);
}

BOOST_AUTO_TEST_CASE(classifiers_of_every_type_are_fine_tuned_and_exported) {
  const Shell weft;
  const std::string data = weft.write("films.tsv",
                                      "pos\tthe film was very good\nneg\tbad\n"
                                      "pos\tgood\nneg\tthe film was dull , bad\n"
                                      "pos\ta very good film\nneg\ta bad town\n");
  for (const std::string& type : encoder_types()) {
    for (const char* head : {"ForMaskedLM", "ForSequenceClassification"}) {
      BOOST_TEST_CONTEXT(type << head) {
        const TinyFolder folder(exact_config(type, head));
        const std::string file = weft.path("tuned.weft"), out = weft.path("tuned/");
        succeeds(weft("train encoder --task classify --from " + folder.path() + " --data " + data +
                      " --steps 3 --warmup 1 --batch 2 --lr 0.01 --test-fraction 0.3 --threads 2 "
                      "--out " +
                      file));
        succeeds(weft("convert " + file + " --out " + out));
        const hf::Folder written = hf::read_folder(out);
        const json config = json::parse(written.config);
        BOOST_TEST(config["architectures"][0] == class_prefix(type) + "ForSequenceClassification");
        BOOST_TEST(config["id2label"]["1"] == "pos");
        BOOST_TEST(config["label2id"]["neg"] == 0);
        check_close(scores(out), scores(file));
        // The exported tensors have the names and shapes of the Hugging Face class.
        const TinyFolder own(exact_config(type, "ForSequenceClassification"));
        std::vector<std::string> names, expected;
        for (const auto& [name, tensor] : written.weights)
          names.push_back(name + tensor.type_str());
        for (const auto& [name, tensor] : hf::read_folder(own.path()).weights)
          expected.push_back(name + tensor.type_str());
        BOOST_TEST(names == expected, boost::test_tools::per_element());
        fs::remove_all(out);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(embeddings_with_more_rows_than_ids_can_be_fine_tuned) {
  // Published models have more rows than ids because their vocabulary sizes are rounded up.
  const Shell weft;
  const TinyFolder folder("bert", "ForMaskedLM");
  const std::string file = weft.path("tuned.weft"), out = weft.path("tuned/");
  const std::string scored = std::string(WEFT_FIXTURES) + "/scored/similar.tsv",
                    text = weft.write("lines.txt",
                                      "the film was good\nmary saw a river\nbad\nit was long\n");
  for (const std::string& arguments :
       {"similarity --comparison joint --pooling cls --data " + scored,
        "mlm --validation-fraction 0.3 --text " + text}) {
    BOOST_TEST_CONTEXT(arguments) {
      succeeds(weft("train encoder --task " + arguments + " --from " + folder.path() +
                    " --steps 2 --warmup 1 --batch 4 --threads 2 --out " + file));
      succeeds(weft("convert " + file + " --out " + out));
      const hf::Folder written = hf::read_folder(out);
      BOOST_TEST(json::parse(written.config)["vocab_size"] == kTinyVocab);
      const auto table = written.weights.find("bert.embeddings.word_embeddings.weight");
      BOOST_TEST_REQUIRE((table != written.weights.end()));
      BOOST_TEST((table->second.sizes() == Sizes{kTinyVocab, 16}));
      fs::remove_all(out);
    }
  }
  BOOST_TEST(contains(weft("fill " + file + " 'the [MASK] was' --top 100").out, "film"));
}

BOOST_AUTO_TEST_CASE(other_heads_are_fine_tuned_and_exported) {
  const Shell weft;
  const std::string fixtures = std::string(WEFT_FIXTURES);
  const std::string tuned = weft.path("tuned.weft"), out = weft.path("tuned/");
  const auto train = [&](const std::string& task, const std::string& folder,
                         const std::string& data) {
    succeeds(weft("train encoder --task " + task + " --from " + folder + data +
                  " --steps 2 --warmup 1 --batch 4 --threads 2 --out " + tuned));
    fs::remove_all(out);
    const Outcome made = weft("convert " + tuned + " --out " + out);
    succeeds(made);
    return hf::architecture_of(hf::read_folder(out).config);
  };
  for (const char* type : {"bert", "roberta", "distilbert", "electra", "deberta-v2", "mpnet",
                           "roformer", "modernbert", "eurobert", "nomic_bert", "new"}) {
    BOOST_TEST_CONTEXT(type) {
      const TinyFolder folder(exact_config(type, "ForMaskedLM"));
      const std::string prefix = class_prefix(type);
      BOOST_TEST(train("tag", folder.path(), " --train " + fixtures + "/tagged/towns.conll") ==
                 prefix + "ForTokenClassification");
      {
        const auto file = load_any_model(tuned), read = load_any_model(out);
        Session a(*file.model->graph, file.model->store), b(*read.model->graph, read.model->store);
        const auto x = tag_texts(a, *file.model, {kTexts[0]}),
                   y = tag_texts(b, *read.model, {kTexts[0]});
        BOOST_TEST_REQUIRE(x[0].words.size() == y[0].words.size());
        for (std::size_t i = 0; i < x[0].words.size(); ++i)
          BOOST_TEST(x[0].words[i].tag == y[0].words[i].tag);
      }
      if (answers_questions(type)) {
        BOOST_TEST(train("answer", folder.path(), " --data " + fixtures + "/squad/places.json") ==
                   prefix + "ForQuestionAnswering");
        const auto file = load_any_model(tuned), read = load_any_model(out);
        Session a(*file.model->graph, file.model->store), b(*read.model->graph, read.model->store);
        const std::vector<Question> asked = {{"who ?", "mary saw the river"}};
        const auto x = answer(a, *file.model, asked), y = answer(b, *read.model, asked);
        BOOST_TEST(x[0][0].text == y[0][0].text);
        BOOST_TEST(std::abs(x[0][0].score - y[0][0].score) < 1e-5);
      }
      BOOST_TEST(train("similarity", folder.path(),
                       " --comparison joint --pooling cls --data " + fixtures +
                           "/scored/similar.tsv") == prefix + "ForSequenceClassification");
      {
        const auto file = load_any_model(tuned), read = load_any_model(out);
        BOOST_TEST(read.task.info().id == "text-similarity");
        Session a(*file.model->graph, file.model->store), b(*read.model->graph, read.model->store);
        const std::vector<ScoredPair> pairs = {{"the film was good", "a good film", 0},
                                               {"bad", "bad", 0}};
        const auto x = score_pairs(a, dynamic_cast<const SimilarityModel&>(*file.model), pairs),
                   y = score_pairs(b, dynamic_cast<const SimilarityModel&>(*read.model), pairs);
        for (std::size_t i = 0; i < pairs.size(); ++i) BOOST_TEST(std::abs(x[i] - y[i]) < 1e-4);
      }
      const std::string text = weft.write("lines.txt",
                                          "the film was very good\nmary saw a river\n"
                                          "she lives in new york\na dull town\n");
      BOOST_TEST(train("mlm", folder.path(), " --text " + text + " --validation-fraction 0.3") ==
                 prefix + "ForMaskedLM");
      {
        const auto file = load_any_model(tuned), read = load_any_model(out);
        Session a(*file.model->graph, file.model->store), b(*read.model->graph, read.model->store);
        const auto x = fill(a, *file.model, {"the [MASK] was"}, {.most = 3}),
                   y = fill(b, *read.model, {"the [MASK] was"}, {.most = 3});
        for (std::size_t i = 0; i < 3; ++i) {
          BOOST_TEST(x[0][0].guesses[i].id == y[0][0].guesses[i].id);
          BOOST_TEST(std::abs(x[0][0].guesses[i].probability - y[0][0].guesses[i].probability) <
                     1e-5);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(pre_trained_encoders_are_exported_with_their_heads) {
  const Shell weft;
  const std::string text =
      weft.write("docs.txt",
                 "the film was very good\nmary saw a river\n\nshe lives in new york\na dull town\n"
                 "\nanna saw the town\nit was long\n\nbob lives in a town\nhe was good\n");
  const auto train = [&](const std::string& objective, const std::string& type) {
    const TinyFolder folder(exact_config(type, "Model"));
    succeeds(weft("train encoder --task " + objective + " --from " + folder.path() + " --text " +
                  text +
                  " --steps 2 --warmup 1 --batch 2 --threads 2 --validation-fraction 0 "
                  "--out " +
                  weft.path("p.weft")));
    fs::remove_all(weft.path("p"));
    const FolderReport report =
        save_folder(weft.path("p"), *load_any_model(weft.path("p.weft")).model);
    static_cast<void>(load_any_model(weft.path("p")));
    return report;
  };
  BOOST_TEST(train("mlm+nsp", "bert").architecture == "BertForPreTraining");
  BOOST_TEST(train("mlm+sop", "albert").architecture == "AlbertForPreTraining");
  const FolderReport report = train("rtd", "electra");
  BOOST_TEST(report.architecture == "ElectraForPreTraining");
  BOOST_TEST_REQUIRE(report.notes.size() == 1U);
  BOOST_TEST(
      contains(report.notes[0],
               "the generator is not written, because it is a separate model in transformers"));
}

BOOST_AUTO_TEST_CASE(encoders_trained_by_weft_are_exported_as_bert) {
  const Shell weft;
  const std::string data = weft.write("films.tsv",
                                      "pos\tthe film was very good\nneg\tbad\n"
                                      "pos\tgood\nneg\tthe film was dull , bad\n"
                                      "pos\ta very good film\nneg\ta bad town\n");
  const auto train = [&](const std::string& more) {
    succeeds(weft("train encoder --task classify --data " + data +
                  " --tokenizer wordpiece:60 --layers 1 --heads 2 --width 16 --inner 32 --context "
                  "24 --steps 2 --warmup 1 --batch 2 --test-fraction 0.3 --threads 2 "
                  "--positions absolute --conv-kernel 0" +
                  more + " --out " + weft.path("m.weft")));
    return load_any_model(weft.path("m.weft"));
  };
  const auto plain = train(" --summary cls --members 1 --no-lower-case --no-norm-first");
  BOOST_TEST(save_folder(weft.path("bert"), *plain.model).architecture ==
             "BertForSequenceClassification");
  check_close(scores(weft.path("bert")), scores(weft.path("m.weft")));
  const auto check_rejected = [&](const std::string& option, const std::string& message) {
    const auto model = train(option);
    check_error_message<ArgumentError>([&] { save_folder(weft.path("no"), *model.model); },
                                       message);
    BOOST_TEST(!fs::exists(weft.path("no")));
  };
  check_rejected(" --summary mean --members 1",
                 "transformers classifiers do not support summary = mean");
  check_rejected(" --summary cls --members 2",
                 "support members = 2: their input is the unchanged text");
  check_rejected(" --summary cls --members 1 --lower-case", "support lower_case = true");
  check_rejected(" --summary cls --members 1 --no-lower-case --norm-first",
                 "no Hugging Face model type supports norm_first = true");
  const auto other = train(" --summary cls --members 1 --no-lower-case --no-norm-first");
  ClassifierHead& head = dynamic_cast<TextClassifier&>(*other.model).head;
  head.pooler = Activation::sigmoid;
  check_error_message<ArgumentError>(
      [&] { save_folder(weft.path("no"), *other.model); },
      "the head of BertForSequenceClassification has the activation tanh, "
      "but the head of the model has the activation sigmoid");
  head.pooler = Activation::relu;  // the activation of DistilBERT's head
  BOOST_TEST(save_folder(weft.path("relu"), *other.model).architecture ==
             "DistilBertForSequenceClassification");
}

BOOST_AUTO_TEST_CASE(mean_pooled_regressions_cannot_be_exported) {
  const Shell weft;
  const TinyFolder folder(exact_config("bert", "Model"));
  succeeds(weft("train encoder --task similarity --comparison joint --pooling mean --from " +
                folder.path() + " --data " + std::string(WEFT_FIXTURES) +
                "/scored/similar.tsv --steps 2 --warmup 1 --batch 4 --threads 2 --out " +
                weft.path("m.weft")));
  check_error(weft("convert " + weft.path("m.weft") + " --out " + weft.path("no")), 1,
              "transformers regression models do not support pooling = mean: their head uses only "
              "the first token");
}

BOOST_AUTO_TEST_CASE(cosine_similarity_models_are_exported_as_encoders) {
  const Shell weft;
  for (const char* type : {"bert", "distilbert"}) {
    for (const char* pooling : {"cls", "mean"}) {
      BOOST_TEST_CONTEXT(type << pooling) {
        const TinyFolder folder(exact_config(type, "Model"));
        succeeds(weft("train encoder --task similarity --comparison cosine --pooling " +
                      std::string(pooling) + " --from " + folder.path() + " --data " +
                      std::string(WEFT_FIXTURES) +
                      "/scored/similar.tsv --steps 2 --warmup 1 --batch 4 --threads 2 --out " +
                      weft.path("m.weft")));
        succeeds(weft("convert " + weft.path("m.weft") + " --out " + weft.path("m/")));
        BOOST_TEST(fs::exists(weft.path("m/modules.json")));
        const auto vectors = [&](const std::string& path) {
          const auto encoder = text_encoder(*load_any_model(path).model);
          BOOST_TEST(choice_name(encoder->vectors.pooling) == pooling);
          Session session(*encoder->graph, encoder->store);
          return embed(session, *encoder, std::vector<std::string>{"the film was good", "bad"});
        };
        const Tensor a = vectors(weft.path("m.weft")), b = vectors(weft.path("m"));
        for (std::int64_t i = 0; i < a.numel(); ++i) BOOST_TEST(std::abs(a.at(i) - b.at(i)) < 1e-5);
        fs::remove_all(weft.path("m"));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(export_errors_name_the_mismatched_settings) {
  EncoderConfig config;
  config.vocab = 20;
  config.layers = 1;
  config.heads = 2;
  config.width = config.inner = 8;
  config.context = 8;
  hf::ModelToExport model{.family = config, .weights = {}, .endings = {"ForMaskedLM"}};
  model.masked_lm = MaskedLmOptions{.activation = Activation::gelu_erf, .layer_norm_eps = 0.5};
  check_error_message<ArgumentError>(
      [&] { hf::export_model(model); },
      "the head of BertForMaskedLM has layer_norm_eps 1e-12, but the head of the model has "
      "layer_norm_eps 0.5");
  model.masked_lm.reset();
  model.weights["embeddings.tokens.weight"] = Tensor::zeros(DType::f32, {20, 8});
  check_error_message<ArgumentError>([&] { hf::export_model(model); },
                                     "the weights do not fit BertForMaskedLM: missing: ");
  model.endings = {"ForPainting"};
  check_error_message<ArgumentError>(
      [&] { hf::export_model(model); },
      "the class BertForPainting of model_type \"bert\" is not supported");
  check_error_message<FormatError>([] { hf::FolderOrigin::from_json(R"({"config.json": 3})"); },
                                   "the original model folder: 'config.json' is not a string");
}

BOOST_AUTO_TEST_CASE(pooling_is_exported_and_files_of_unknown_origin_are_rejected) {
  const TinyFolder folder("bert", "Model");
  folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  folder.write(
      "modules.json",
      R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}])");
  const auto loaded = load_any_model(folder.path());
  save_folder(folder.beside("again"), *loaded.model);
  check_same_folder(folder.beside("again"), folder.path(), kTexts);
  for (const char* name : {"1_Pooling/config.json", "modules.json"}) {
    BOOST_TEST(read_whole_file(folder.beside(std::string("again/") + name)) ==
               read_whole_file(folder.path(name)));
  }
  // A .weft file does not contain weights that Weft does not use, such as a discriminator head.
  const TinyFolder electra("electra", "ForPreTraining");
  save_model(electra.beside("e.weft"), *load_any_model(electra.path()).model);
  const auto file = load_any_model(electra.beside("e.weft"));
  BOOST_TEST(save_folder(electra.beside("base"), *file.model).architecture == "ElectraModel");
  static_cast<void>(load_any_model(electra.beside("base")));
  // Files from earlier versions do not record the folder from which the model was imported.
  const TinyFolder classes("electra", "ForSequenceClassification");
  const auto model = load_any_model(classes.path());
  model.model->origin.reset();
  check_error_message<ArgumentError>([&] { save_folder(classes.beside("no"), *model.model); },
                                     "does not record the original folder of the model");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
