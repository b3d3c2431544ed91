// Fine-tuning from Hugging Face folders: which parts are read, whether results match those of the
// classes in models/hf, and errors for missing parts.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "small_encoder.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(pretrained_folder)
namespace {

using nlohmann::json;

json bert(const std::string& architecture) {
  return {{"model_type", "bert"},    {"architectures", {architecture}}, {"vocab_size", 60},
          {"hidden_size", 16},       {"num_hidden_layers", 2},          {"num_attention_heads", 2},
          {"intermediate_size", 32}, {"max_position_embeddings", 16},   {"type_vocab_size", 2}};
}

json vit(const std::string& type, const std::string& architecture) {
  return {{"model_type", type},       {"architectures", {architecture}},
          {"hidden_size", 16},        {"num_hidden_layers", 2},
          {"num_attention_heads", 2}, {"intermediate_size", 32},
          {"image_size", 6},          {"patch_size", 3},
          {"num_channels", 1},        {"initializer_range", 0.3},
          {"encoder_stride", 3}};
}

/// Writes a folder with newly initialised weights and returns them.
TensorMap write_folder(const std::string& path, const json& config) {
  Graph graph;
  const hf::Model model = hf::build_model(graph, config.dump(), hf::minimal_inputs(config.dump()));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 5}).initialise();
  hf::write_folder(path, model, graph, *store);
  TensorMap weights;
  for (const std::string& name : store->names()) weights[name] = store->tensor(name);
  return weights;
}

void check_same(const TensorMap& found, const TensorMap& expected) {
  for (const auto& [name, tensor] : found) {
    BOOST_TEST_CONTEXT(name) { BOOST_TEST(bitwise_equal(tensor, expected.at(name))); }
  }
}

BOOST_AUTO_TEST_CASE(encoders_are_fine_tuned_from_folders) {
  const TextFiles files("encoder_folder");
  const TensorMap weights = write_folder(files.path("bert"), bert("BertForMaskedLM"));
  files.write("bert/spiece.model", tokenizer().to_bytes());
  check_same(load_pretrained(files.path("bert")).weights, weights);

  const Pretrained base = load_pretrained(files.path("bert"));
  BOOST_TEST(base.config_of<EncoderConfig>().width == 16);
  BOOST_TEST(base.config_of<EncoderConfig>().inner == 32);
  BOOST_TEST(base.config_of<EncoderConfig>().hidden_dropout == 0.1);
  BOOST_TEST(encoder_tokenizer(base).bytes() == tokenizer().to_bytes());
  BOOST_TEST(base.classes.empty());
  BOOST_TEST(base.weights.size() == weights.size());
  check_same(base.weights, weights);
  const TextClassifier model = trainable(build_text_classifier(
      base.config_of<EncoderConfig>(), encoder_tokenizer(base), {"a", "b"}, settings()));
  const LoadReport report = load_weights(*model.store, *model.graph, base.weights, "bert");
  BOOST_TEST(report.missing ==
                 (Texts{"pooler.weight", "pooler.bias", "classifier.weight", "classifier.bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(std::count(report.unexpected.begin(), report.unexpected.end(), "masked_lm.bias") == 1);

  // A class with a classification head also has a pooler.
  write_folder(files.path("classes"), bert("BertForSequenceClassification"));
  files.write("classes/spiece.model", tokenizer().to_bytes());
  BOOST_TEST(load_pretrained(files.path("classes")).weights.contains("pooler.weight"));
  BOOST_TEST(load_pretrained(files.path("classes")).classes.empty());
}

BOOST_AUTO_TEST_CASE(class_names_are_read_from_the_folder) {
  const TextFiles files("class_names");
  const auto classes = [&](json config, const json& id2label) {
    config["id2label"] = id2label;
    write_folder(files.path("classes"), config);
    return load_pretrained(files.path("classes")).classes;
  };
  const json names = {{"0", "bad"}, {"1", "good"}};
  const json classifier = bert("BertForSequenceClassification");
  BOOST_TEST(classes(classifier, names) == (Texts{"bad", "good"}),
             boost::test_tools::per_element());
  BOOST_TEST(classes(vit("vit", "ViTForImageClassification"), names) == (Texts{"bad", "good"}),
             boost::test_tools::per_element());
  // Class names are ignored if the model has no classification head. Numbers are names, too.
  BOOST_TEST(classes(bert("BertForMaskedLM"), names).empty());
  BOOST_TEST(classes(classifier, {{"0", "bad"}, {"1", 7}}) == (Texts{"bad", "7"}),
             boost::test_tools::per_element());
  BOOST_CHECK_EXCEPTION(
      classes(classifier, {{"0", "bad"}, {"2", "good"}}), FormatError,
      [](const Error& e) { return contains(e.what(), "id2label has no name for the id 1"); });
}

BOOST_AUTO_TEST_CASE(the_head_in_a_folder_is_kept_if_the_classes_match) {
  const Shell weft;
  const std::string folder = weft.path("bert");
  json config = bert("BertForSequenceClassification");
  config["id2label"] = {{"0", "bad"}, {"1", "good"}};
  write_folder(folder, config);
  weft.write("bert/spiece.model", tokenizer().to_bytes());
  const auto trained = [&](const std::string& other) {
    std::string lines;
    for (int i = 0; i < 20; ++i) lines += "bad\ta dull film\n" + other + "\ta good film\n";
    return weft("train encoder --task classify --data " + weft.write("films.tsv", lines) +
                " --label first --from " + folder + " --steps 1 --batch 4 --threads 1 --out " +
                weft.path("m.weft"));
  };
  const Outcome same = trained("good"), others = trained("fine");
  BOOST_TEST_CONTEXT(same.out << same.err << others.out << others.err) {
    BOOST_TEST((same.code == 0 && others.code == 0));
    BOOST_TEST(contains(same.out, " parameters loaded\n"));
    BOOST_TEST(contains(others.out, "; 2 new: classifier.weight, classifier.bias"));
  }
}

BOOST_AUTO_TEST_CASE(errors_for_unreadable_tokenizers_list_the_files_of_the_folder) {
  const TextFiles files("no_tokenizer");
  const std::string path = files.path("bert");
  write_folder(path, bert("BertModel"));
  const auto fails = [&](const std::string& part) {
    check_error_message<FormatError>([&] { encoder_tokenizer(load_pretrained(path)); }, part);
  };
  fails(path + " has no tokenizer: it contains none of tokenizer.json, vocab.json with merges.txt");
  files.write("bert/spiece.model", "nonsense");
  fails("bert: spiece.model: ");
  files.write("bert/vocab.txt", "[PAD]\n");
  fails("bert: vocab.txt lacks '[UNK]'");
  files.write("bert/tokenizer.json", "{}");
  fails("bert: tokenizer.json lacks 'model'");
  json gpt = {{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}},
              {"n_embd", 8},          {"n_layer", 1},
              {"n_head", 2},          {"vocab_size", 9},
              {"n_positions", 8}};
  write_folder(files.path("gpt"), gpt);
  const Pretrained decoder = load_pretrained(files.path("gpt"));
  BOOST_TEST(decoder.config_of<GptConfig>().width == 8);
  check_error_message<FormatError>(
      [&] { decoder.config_of<EncoderConfig>(); },
      "holds a GPT2LMHeadModel (model_type \"gpt2\"), which is a decoder, not "
      "an encoder");
  check_error_message<FormatError>([&] { decoder.config_of<VitConfig>(); },
                                   "not a vision transformer");
  std::filesystem::remove(files.path("gpt/model.safetensors"));
  check_error_message<IoError>([&] { load_pretrained(files.path("gpt")); }, "no model.safetensors");
}

Tensor images() {
  Tensor result = Tensor::empty(DType::f32, {3, 1, 6, 6});
  const RandomStream stream{3};
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data<float>()[i] = uniform_float(stream.word(static_cast<std::uint64_t>(i)));
  return result;
}

BOOST_AUTO_TEST_CASE(image_classifiers_match_the_outputs_of_their_folder) {
  const TextFiles files("vit_folder");
  for (const auto& [type, prefix] : {std::pair{"vit", "ViT"}, std::pair{"deit", "DeiT"}}) {
    BOOST_TEST_CONTEXT(type) {
      const std::string path = files.path(type);
      json config = vit(type, std::string(prefix) + "ForImageClassification");
      config["id2label"] = {{"0", "x"}, {"1", "y"}, {"2", "z"}};
      write_folder(path, config);
      files.write(std::string(type) + "/preprocessor_config.json",
                  R"({"image_mean": [0.4], "image_std": [0.2], "do_normalize": true})");
      const Pretrained base = load_pretrained(path);
      BOOST_TEST(base.config_of<VitConfig>().distillation == (prefix == std::string("DeiT")));
      BOOST_REQUIRE(base.normalisation.has_value());
      const ImageClassifier model = trainable(build_image_classifier(
          base.config_of<VitConfig>(), {"x", "y", "z"}, *base.normalisation, {}, settings()));
      const LoadReport report = load_weights(
          *model.store, *model.graph, image_weights(base, base.config_of<VitConfig>()), path);
      BOOST_TEST(report.missing.empty());
      Session session(*model.graph, model.store);
      const Tensor found = class_probabilities(session, model, images());

      Graph graph;
      const hf::Folder folder = hf::read_folder(path);
      const hf::Model reference =
          hf::build_model(graph, folder.config, {{"pixel_values", {DType::f32, {3, 1, 6, 6}}}});
      Program program("reference");
      program.output("p", softmax(reference.outputs.at("logits"), 1));
      Tensor pixels = images();
      for (std::int64_t i = 0; i < pixels.numel(); ++i)
        pixels.mutable_data<float>()[i] = (pixels.data<float>()[i] - 0.4F) / 0.2F;
      Session other(graph, hf::load_weights(reference, graph, folder));
      const Tensor expected = other.run(program, {{"pixel_values", pixels}})["p"];
      for (std::int64_t i = 0; i < expected.numel(); ++i)
        BOOST_TEST(std::abs(found.at(i) - expected.at(i)) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(positions_are_interpolated_and_pixels_are_preprocessed_as_configured) {
  const TextFiles files("vit_sizes");
  const std::string path = files.path("vit");
  write_folder(path, vit("vit", "ViTForMaskedImageModeling"));
  BOOST_TEST(!load_pretrained(path).normalisation.has_value());
  const auto normalisation = [&](const std::string& text) {
    files.write("vit/preprocessor_config.json", text);
    return *load_pretrained(path).normalisation;
  };
  BOOST_TEST(normalisation("{}").mean.at(0) == 0.5);
  BOOST_TEST(normalisation(R"({"image_mean": 0.25})").mean.at(0) == 0.25);
  BOOST_TEST(normalisation(R"({"do_normalize": false})").deviation.at(0) == 1);
  // Pixels stay in [0, 255] if they are not rescaled to [0, 1].
  BOOST_TEST(normalisation(R"({"do_rescale": false, "image_std": [51]})").deviation.at(0) == 0.2);
  BOOST_TEST(normalisation(R"({"rescale_factor": 0.00784313725490196})").mean.at(0) == 0.25,
             boost::test_tools::tolerance(1e-12));
  for (const auto& [text, part] :
       {std::pair{R"({"image_mean": [1, 2]})",
                  "'image_mean' contains 2 numbers, but images have 1"},
        {R"({"image_std": ["a"]})",
         "'image_std' is [\"a\"], but must be a number or a list of numbers"},
        {R"({"rescale_factor": 0})", "'rescale_factor' must be positive"}})
    check_error_message<FormatError>([&, t = text] { normalisation(t); }, part);

  files.write("vit/preprocessor_config.json", "{}");
  const Pretrained base = load_pretrained(path);
  VitConfig larger = base.config_of<VitConfig>();
  larger.image_height = larger.image_width = 12;
  const TensorMap fitted = image_weights(base, larger);
  BOOST_TEST((fitted.at("positions").sizes() == Sizes{1, 17, 16}));
  BOOST_TEST(bitwise_equal(image_weights(base, base.config_of<VitConfig>()).at("positions"),
                           base.weights.at("positions")));
  const ImageClassifier model =
      trainable(build_image_classifier(larger, {"a", "b"}, *base.normalisation, {}, settings()));
  const LoadReport report = load_weights(*model.store, *model.graph, fitted, path);
  BOOST_TEST(report.missing == (Texts{"classifier.weight", "classifier.bias"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(weft_train_accepts_model_folders) {
  const Shell weft;
  std::string train, test;
  for (int i = 0; i < 60; ++i) {
    std::string line;
    for (int p = 0; p < 16; ++p)
      line += std::to_string(((p < 8) == (i % 2 == 0) ? 9 : 0) + (i * 7 + p * 5) % 8) + ",";
    (i < 40 ? train : test) += line + std::to_string(i % 2) + "\n";
  }
  weft.write("data/digits.tra", train);
  weft.write("data/digits.tes", test);
  const std::string data = " --data " + weft.path("data"), out = " --out " + weft.path("m.weft");
  const std::string few =
      " --steps 60 --batch 8 --lr 0.003 --warmup 5 --eval-every 0 --threads 2"
      " --no-flip --min-area 1";
  json config = vit("deit", "DeiTForImageClassification");
  config["num_channels"] = 3;
  write_folder(weft.path("deit"), config);
  const std::string from = " --from " + weft.path("deit");
  const Outcome tuned = weft("train vit" + from + data + out + few + " --freeze 'patches.*'" +
                             " --layer-lr-decay 0.9");
  BOOST_TEST(tuned.code == 0, tuned.err);
  BOOST_TEST(contains(tuned.out, "2 new: classifier.weight, classifier.bias"));
  BOOST_TEST(contains(tuned.out, "of the training images"));
  BOOST_TEST(contains(tuned.out, "2 classes, images 3 x 6 x 6"));
  BOOST_TEST(contains(last_line(tuned.out), "accuracy 1.0000 (20 of 20)"));
  // A model file can be fine-tuned in the same way as a folder. If the classes are the same, the
  // head is kept.
  const Outcome again =
      weft("train vit --from " + weft.path("m.weft") + data + " --out " + weft.path("n.weft") +
           " --image-height 12 --image-width 12" + " --steps 2 --batch 4");
  BOOST_TEST(again.code == 0, again.err);
  BOOST_TEST(!contains(again.out, " new: "));
  BOOST_TEST(contains(again.out, "images 3 x 12 x 12"));
  BOOST_TEST(contains(again.out, "of the trained model"));

  check_error(weft("train vit" + data + out + " --new 'classifier.*'"), 2, "--reinit needs --from");
  check_error(weft("train vit --resume " + weft.path("m.weft") + data + from), 2,
              "give only one of them");
  check_error(weft("train vit" + from + data + out + " --width 32"), 2, "do not match the model:");
  check_error(weft("train vit" + from + data + out + " --freeze 'conv.*'"), 2,
              "no parameter matches 'conv.*'");
  check_error(weft("train vit --from /nowhere" + data + out), 1, "/nowhere");

  std::string texts;
  for (int i = 0; i < 64; ++i)
    texts += (i % 3 == 0 ? "spam\twin a free prize now call " : "ham\tsee you at home then ") +
             std::to_string(i % 7) + "\n";
  weft.write("sms", texts);
  write_folder(weft.path("bert"), bert("BertForMaskedLM"));
  const std::string classify = "train encoder --task classify --steps 4 --warmup 1 --data " +
                               weft.path("sms") + out + " --from " + weft.path("bert");
  check_error(weft(classify), 1, "has no tokenizer: it contains none of tokenizer.json");
  weft.write("bert/spiece.model", tokenizer().to_bytes());
  const Outcome text = weft(classify);
  BOOST_TEST(text.code == 0, text.err);
  BOOST_TEST(contains(text.out, "4 new: pooler.weight, pooler.bias, classifier.weight"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
