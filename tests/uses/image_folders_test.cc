// Vision transformers exported as Hugging Face folders.
#include <boost/test/unit_test.hpp>

#include "folder_round_trip.h"
#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"
#include "weft/tests/support/vision_config.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_folders)
namespace {

namespace fs = std::filesystem;
using testing::vision_config;

constexpr const char* kPixels =
    R"({"image_mean": [0.5], "image_std": [0.25], "do_resize": true, "resample": 2})";

std::string write_digits(const Shell& weft) {
  std::string digits;
  for (int i = 0; i < 60; ++i) {
    for (int p = 0; p < 16; ++p)
      digits += std::to_string(((p < 8) == (i % 2 == 0) ? 9 : 0) + (i * 7 + p * 5) % 8) + ",";
    digits += std::to_string(i % 2) + "\n";
  }
  weft.write("digits/digits.tra", digits);
  weft.write("digits/digits.tes", digits.substr(0, digits.size() / 3));
  return weft.path("digits");
}

Tensor probabilities(const std::string& path) {
  const auto [task, model, notes] = load_any_model(path);
  Session session(*model->graph, model->store, {.threads = 1});
  std::vector<float> pixels;
  for (int i = 0; i < 32; ++i) pixels.push_back(static_cast<float>(i * 7 % 32) / 32);
  return session.run(model->program("classify"),
                     {{"images", Tensor::of({2, 1, 4, 4}, pixels)}})["probabilities"];
}

BOOST_AUTO_TEST_CASE(image_classifiers_round_trip) {
  auto classes = testing::image_classes();
  classes.emplace_back("deit", "DeiTForImageClassificationWithTeacher");
  for (const auto& [type, architecture] : classes) {
    BOOST_TEST_CONTEXT(architecture) {
      json config = vision_config(type, architecture);
      config["id2label"] = {{"0", "cat"}, {"1", "dog"}, {"2", "fish"}};
      config["label2id"] = {{"cat", 0}, {"dog", 1}, {"fish", 2}};
      const TinyFolder folder(config, false);
      folder.write("preprocessor_config.json", kPixels);
      const auto loaded = load_any_model(folder.path());
      save_folder(folder.beside("again"), *loaded.model);
      save_model(folder.beside("m.weft"), *loaded.model);
      save_folder(folder.beside("file"), *load_any_model(folder.beside("m.weft")).model);
      for (const char* name : {"again", "file"}) {
        // Classifiers never read DINOv2's mask token, so .weft files do not contain it.
        hf::Folder before = hf::read_folder(folder.path()),
                   after = hf::read_folder(folder.beside(name));
        testing::check_same_tensors(testing::outputs_of(after), testing::outputs_of(before));
        for (TensorMap* weights : {&before.weights, &after.weights})
          std::erase_if(*weights, [](const auto& t) { return t.first.ends_with("mask_token"); });
        BOOST_TEST(after.config == before.config);
        testing::check_same_tensors(after.weights, before.weights);
        BOOST_TEST(read_whole_file(
                       folder.beside(std::string(name) + "/preprocessor_config.json")) == kPixels);
        BOOST_TEST(bitwise_equal(probabilities(folder.beside(name)), probabilities(folder.path())));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(vision_transformer_folders_are_fine_tuned_and_exported_again) {
  const Shell weft;
  const std::string data = write_digits(weft);
  for (const auto& [type, architecture, written] :
       {std::array{"vit", "ViTModel", "ViTForImageClassification"},
        {"vit", "ViTForMaskedImageModeling", "ViTForImageClassification"},
        {"deit", "DeiTForImageClassification", "DeiTForImageClassification"},
        {"vit_msn", "ViTMSNModel", "ViTMSNForImageClassification"},
        {"vit_mae", "ViTMAEForPreTraining", "ViTForImageClassification"},
        {"dinov2", "Dinov2Model", "Dinov2ForImageClassification"},
        {"dinov2_with_registers", "Dinov2WithRegistersModel",
         "Dinov2WithRegistersForImageClassification"},
        {"beit", "BeitForMaskedImageModeling", "BeitForImageClassification"},
        {"data2vec-vision", "Data2VecVisionModel", "Data2VecVisionForImageClassification"},
        {"swin", "SwinForMaskedImageModeling", "SwinForImageClassification"}}) {
    BOOST_TEST_CONTEXT(architecture) {
      const TinyFolder folder(vision_config(type, architecture), false);
      folder.write("preprocessor_config.json", kPixels);
      const std::string file = weft.path("tuned.weft"), out = weft.path("tuned/");
      const bool swin = std::string_view(type) == "swin";
      const Outcome trained = weft((swin ? "train swin" : "train vit --task classify") +
                                   std::string(" --from ") + folder.path() + " --data " + data +
                                   " --steps 2 --warmup 1 --batch 8 --threads 2 --out " + file);
      BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
      const Outcome made = weft("convert " + file + " --out " + out);
      BOOST_TEST_REQUIRE(made.code == 0, made.err);
      const hf::Folder read = hf::read_folder(out);
      BOOST_TEST(hf::architecture_of(read.config) == written);
      BOOST_TEST(json::parse(read.config)["id2label"].size() == 2U);
      BOOST_TEST(bitwise_equal(probabilities(out), probabilities(file)));
      const bool mae = std::string_view(type) == "vit_mae";
      const TinyFolder own(vision_config(mae ? "vit" : type, written), false);
      std::vector<std::string> names, expected;
      for (const auto& [name, tensor] : read.weights) names.push_back(name + tensor.type_str());
      for (const auto& [name, tensor] : hf::read_folder(own.path()).weights)
        expected.push_back(name + tensor.type_str());
      BOOST_TEST(names == expected, boost::test_tools::per_element());
      fs::remove_all(out);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_vision_type_is_fine_tuned_with_another_image_size_and_quantised) {
  const Shell weft;
  const std::string data = write_digits(weft);
  for (const auto& [type, architecture] : testing::image_classes()) {
    BOOST_TEST_CONTEXT(architecture) {
      const TinyFolder folder(vision_config(type, architecture), false);
      folder.write("preprocessor_config.json", kPixels);
      const std::string file = weft.path(type + ".weft"), out = weft.path(type);
      const std::string start = (type == "swin" ? "train swin" : "train vit --task classify") +
                                std::string(" --from ") + folder.path() + " --data " + data +
                                " --steps 2 --warmup 1 --batch 8 --threads 2 --out ";
      const auto run = [&](const std::string& command) {
        const Outcome done = weft(command);
        BOOST_TEST_REQUIRE(done.code == 0, command << ": " << done.err);
      };
      run(start + file + " --image-height 6 --image-width 8");
      run("convert " + file + " --out " + out + "/");
      BOOST_TEST((json::parse(hf::read_folder(out).config)["image_size"] == json{6, 8}));
      run("quantize " + file + " --out " + out + "-int8.weft");
      run("evaluate " + out + "-int8.weft --data " + data);
      run(start + out + "-lora.weft --lora-rank 2");
      run("evaluate " + out + "-lora.weft --data " + data);
    }
  }
}

BOOST_AUTO_TEST_CASE(masked_autoencoders_are_pre_trained_exported_and_continued) {
  const Shell weft;
  const std::string data = write_digits(weft), model = weft.path("mae.weft");
  const std::string start = "train vit --task masked-image --objective mae --data " + data +
                            " --steps 2 --warmup 1 --batch 8 --threads 2 ";
  const Outcome trained =
      weft(start +
           "--image-height 4 --image-width 4 --layers 2 --heads 2 --width 16 --inner 32 "
           "--decoder-layers 1 --decoder-width 8 --decoder-heads 2 --decoder-inner 16 "
           "--patch-height 2 --patch-width 2 --normalise-pixel-loss --mask-ratio 0.5 --out " +
           model);
  BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
  BOOST_TEST(trained.out.find("masked    2 of 4 patches") != std::string::npos);
  const Outcome made = weft("convert " + model + " --out " + weft.path("mae/"));
  BOOST_TEST_REQUIRE(made.code == 0, made.err);
  const hf::Folder read = hf::read_folder(weft.path("mae"));
  const json config = json::parse(read.config);
  BOOST_TEST(hf::architecture_of(read.config) == "ViTMAEForPreTraining");
  BOOST_TEST(config["mask_ratio"] == 0.5);
  BOOST_TEST(config["norm_pix_loss"] == true);
  BOOST_TEST(config["decoder_num_hidden_layers"] == 1);
  BOOST_TEST(config["decoder_hidden_size"] == 8);
  const auto table = read.weights.find("vit.embeddings.position_embeddings");
  BOOST_REQUIRE(table != read.weights.end());
  BOOST_TEST(table->second.at(16 + 4) == 1);  // cos(0) of the first patch
  BOOST_TEST(testing::outputs_of(read).at("logits").sizes() == (Sizes{1, 4, 4}),
             boost::test_tools::per_element());
  const Outcome more = weft(start + "--from " + weft.path("mae") + " --image-height 6 --out " +
                            weft.path("more.weft"));
  BOOST_TEST_REQUIRE(more.code == 0, more.err);
  const Outcome tuned =
      weft("train vit --task classify --from " + weft.path("more.weft") + " --data " + data +
           " --steps 2 --warmup 1 --batch 8 --threads 2 --out " + weft.path("tuned.weft"));
  BOOST_TEST_REQUIRE(tuned.code == 0, tuned.err);
  const auto classifier = load_any_model(weft.path("tuned.weft"));
  BOOST_TEST(save_folder(weft.path("vit"), *classifier.model).architecture ==
             "ViTForImageClassification");
  const Outcome wrong = weft("train vit --task masked-image --decoder-layers 2 --data " + data +
                             " --out " + weft.path("no.weft"));
  BOOST_TEST(wrong.code == 2);
  BOOST_TEST(wrong.err.find(
                 "--decoder-layers has no effect without --task masked-image --objective mae") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(models_trained_by_weft_are_exported_with_their_normalisation) {
  const Shell weft;
  const std::string data = write_digits(weft);
  const std::string small =
      " --data " + data +
      " --image-height 4 --image-width 4 --layers 1 --heads 2 --width 16 --inner 32 --batch 8 "
      "--warmup 1 --patch-height 2 --patch-width 2 --steps 2 --threads 2 ";
  const std::string library = " --pooling class_token --positions learned";
  const auto train = [&](const std::string& options) {
    const Outcome trained = weft("train vit" + small + options + " --out " + weft.path("m.weft"));
    BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
    return load_any_model(weft.path("m.weft"));
  };
  const auto plain = train("--task classify --shift 0 --rotation 0 --zoom 0" + library);
  BOOST_TEST(save_folder(weft.path("vit"), *plain.model).architecture ==
             "ViTForImageClassification");
  const Tensor a = probabilities(weft.path("vit")), b = probabilities(weft.path("m.weft"));
  for (std::int64_t i = 0; i < a.numel(); ++i) BOOST_TEST(std::abs(a.at(i) - b.at(i)) < 1e-6);
  const auto masked = train("--task masked-image" + library);
  BOOST_TEST(save_folder(weft.path("masked"), *masked.model).architecture ==
             "ViTForMaskedImageModeling");
  const hf::Folder read = hf::read_folder(weft.path("masked"));
  BOOST_TEST(json::parse(read.config)["encoder_stride"] == 2);
  BOOST_TEST(testing::outputs_of(read).contains("logits"));
  const auto unsupported =
      train("--task classify --shift 0 --rotation 0 --zoom 0 --pooling mean --positions learned");
  check_error_message<ArgumentError>([&] { save_folder(weft.path("odd"), *unsupported.model); },
                                     "no Hugging Face model type supports pooling = \"mean\"");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
