// Folders of CLIP and SigLIP: round trips, zero-shot classification, vectors of texts and images.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "folder_round_trip.h"
#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/tasks/tasks.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"
#include "weft/tests/support/vision_config.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_text_folders)
namespace {

using testing::message_contains;

constexpr const char* kPixels =
    R"({"image_processor_type": "CLIPImageProcessor", "image_mean": [0.5], "image_std": [0.25],
        "size": {"shortest_edge": 4}, "crop_size": 4})";

const std::string kImages = std::string(WEFT_FIXTURES) + "/captions";

json tower(json changes) {
  json config = {{"hidden_size", 16},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 2},
                 {"intermediate_size", 32},
                 {"initializer_range", 0.4}};
  config.update(changes);
  return config;
}
json text_tower() {
  return tower({{"vocab_size", kTinyVocab}, {"max_position_embeddings", 16}, {"eos_token_id", 3}});
}
json vision_tower() { return tower({{"image_size", 4}, {"patch_size", 2}, {"num_channels", 1}}); }

/// Returns the config of a class. The types of single towers have their keys at the top level.
json image_text_config(const std::string& type, const std::string& architecture) {
  json config = {{"model_type", type}, {"architectures", {architecture}}};
  if (type.ends_with("_text_model")) config.update(text_tower());
  if (type.ends_with("_vision_model")) config.update(vision_tower());
  if (type.find("_model") == type.npos)
    config.update({{"text_config", text_tower()}, {"vision_config", vision_tower()}});
  if (type.starts_with("clip")) config["projection_dim"] = 12;
  return config;
}

/// A folder with preprocessing settings and BERT's vocabulary, in which [SEP] ends texts.
struct TinyTowers : TinyFolder {
  TinyTowers(const std::string& type, const std::string& architecture)
      : TinyFolder(image_text_config(type, architecture)) {
    write("preprocessor_config.json", kPixels);
  }
};

struct TowerClass {
  const char *type, *architecture;
};
const std::vector<TowerClass> kTowerClasses = {
    {"clip", "CLIPModel"},
    {"siglip", "SiglipModel"},
    {"clip_text_model", "CLIPTextModel"},
    {"clip_text_model", "CLIPTextModelWithProjection"},
    {"clip_vision_model", "CLIPVisionModel"},
    {"clip_vision_model", "CLIPVisionModelWithProjection"},
    {"siglip_text_model", "SiglipTextModel"},
    {"siglip_vision_model", "SiglipVisionModel"},
    {"clip", "CLIPTextModelWithProjection"},
    {"siglip", "SiglipVisionModel"},
    {"clip", "CLIPForImageClassification"},
    {"siglip", "SiglipForImageClassification"}};

BOOST_AUTO_TEST_CASE(folders_of_every_class_round_trip) {
  for (const auto& [type, architecture] : kTowerClasses) {
    BOOST_TEST_CONTEXT(type << " " << architecture) {
      const TinyTowers folder(type, architecture);
      const auto loaded = load_any_model(folder.path());
      save_folder(folder.beside("again"), *loaded.model);
      testing::check_same_folder(folder.beside("again"), folder.path(), {});
      save_model(folder.beside("m.weft"), *loaded.model);
      save_folder(folder.beside("file"), *load_any_model(folder.beside("m.weft")).model);
      // .weft files lack tensors that no program reads: classifiers do not read pooling heads.
      if (std::string_view(architecture).ends_with("ForImageClassification")) {
        testing::check_same_tensors(testing::outputs_of(hf::read_folder(folder.beside("file"))),
                                    testing::outputs_of(hf::read_folder(folder.path())));
        continue;
      }
      testing::check_same_folder(folder.beside("file"), folder.path(), {});
    }
  }
}

/// Returns the images [count, 1, 4, 4] at these paths, as a model reads them.
Tensor pixels_of(const std::vector<std::string>& paths) {
  Tensor images = Tensor::empty(DType::f32, {std::ssize(paths), 1, 4, 4});
  auto* out = images.mutable_data<float>();
  for (const std::string& path : paths) {
    const Tensor image = read_image(path, 1);
    out = std::copy_n(image.data<float>(), 16, out);
  }
  return images;
}

const std::vector<std::string> kLabels = {"the film was good", "she lives in york", "a river"};

BOOST_AUTO_TEST_CASE(zero_shot_logits_are_those_of_the_transformers_class) {
  for (const auto& [type, architecture] :
       {std::pair{"clip", "CLIPModel"}, {"siglip", "SiglipModel"}}) {
    BOOST_TEST_CONTEXT(architecture) {
      const TinyTowers folder(type, architecture);
      const auto loaded = load_any_model(folder.path());
      const auto& model = dynamic_cast<const ImageTextModel&>(*loaded.model);
      Session session(*model.graph, model.store, {.threads = 1});
      const Tensor images = pixels_of({kImages + "/0.png", kImages + "/2.png"});
      const Tensor found = zero_shot_logits(session, model, images, kLabels);

      const bool padded = std::string(type) == "siglip";
      Graph graph;
      NamedTensors inputs = {{"pixel_values", images.clone()}};
      for (float& x : std::span(inputs[0].second.mutable_data<float>(), 32)) x = (x - 0.5F) / 0.25F;
      std::vector<std::int32_t> ids, mask;
      const std::int64_t length = padded ? 16 : 8;
      for (const std::string& label : kLabels) {
        const Encoding encoding = folder.ids(label);
        for (std::int64_t i = 0; i < length; ++i) {
          const bool token = i < std::ssize(encoding.ids);
          ids.push_back(token ? encoding.ids[static_cast<std::size_t>(i)] : 0);
          mask.push_back(token ? 1 : 0);
        }
      }
      inputs.emplace_back("input_ids", Tensor::of({3, length}, ids));
      if (!padded) inputs.emplace_back("attention_mask", Tensor::of({3, length}, mask));
      const hf::Model built =
          hf::build_model(graph, hf::read_folder(folder.path()).config,
                          hf::input_types(TensorMap(inputs.begin(), inputs.end())));
      BOOST_TEST(!built.outputs.contains("loss"));  // there are two images and three texts
      Session other(graph, hf::load_weights(built, graph, hf::read_folder(folder.path())),
                    {.threads = 1});
      const Tensor expected = other.run(
          Program("p").output("logits", built.outputs.at("logits_per_image")), inputs)["logits"];
      BOOST_REQUIRE((found.sizes() == Sizes{2, 3}));
      for (std::int64_t i = 0; i < 6; ++i)
        BOOST_TEST(std::abs(found.at(i) - expected.at(i)) < 1e-4);
    }
  }
}

std::vector<ClassScore> cat_or_dog(const std::string& folder, const std::string& image) {
  const LoadedModel loaded = load_model_for(Use::classify, folder);
  Session session(*loaded.model->graph, loaded.model->store);
  const std::vector<std::string> images = {image};
  return zero_shot_classes(session, *loaded.model, images, {"a cat", "a dog"},
                           {.templates = {"a photo of {}"}})
      .front();
}

BOOST_AUTO_TEST_CASE(images_are_classified_by_labels_in_cpp_as_on_the_command_line) {
  const Shell weft;
  const TinyTowers clip("clip", "CLIPModel");
  const std::string image = kImages + "/3.png";
  const Outcome out = weft("classify " + clip.path() + " " + image +
                           " --labels 'a cat' 'a dog' --template 'a photo of {}' --json");
  BOOST_TEST_REQUIRE(out.code == 0, out.err);
  const json found = json::parse(out.out).at("classes");
  const std::vector<ClassScore> classes = cat_or_dog(clip.path(), image);
  BOOST_TEST_REQUIRE(classes.size() == 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    BOOST_TEST(found[i].at("class") == classes[i].name);
    BOOST_TEST(std::abs(found[i].at("probability").get<double>() - classes[i].probability) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(images_are_classified_by_labels) {
  const Shell weft;
  const std::string labels = " --labels 'the film' 'she lives in york' 'a river'";
  const TinyTowers clip("clip", "CLIPModel"), siglip("siglip", "SiglipModel");
  const auto classes = [&](const TinyFolder& folder, const std::string& more) {
    const Outcome out = weft("classify " + folder.path() + " " + kImages + "/0.png " + kImages +
                             "/1.png --json --top 3" + labels + more);
    BOOST_TEST_REQUIRE(out.code == 0, out.err);
    return json::parse(out.out.substr(0, out.out.find('\n'))).at("classes");
  };
  const json found = classes(clip, "");
  double sum = 0;
  for (const json& entry : found) sum += entry.at("probability").get<double>();
  BOOST_TEST(found.size() == 3U);
  BOOST_TEST(std::abs(sum - 1) < 1e-3);
  BOOST_TEST((classes(clip, " --template 'the town of {}'") != found));
  // One template twice is the same template.
  BOOST_TEST((classes(clip, " --template '{}' '{}'") == found));
  double independent = 0;
  for (const json& entry : classes(siglip, ""))
    independent += entry.at("probability").get<double>();
  BOOST_TEST(std::abs(independent - 1) > 1e-3);

  const std::string image = " " + kImages + "/0.png ";
  check_error(weft("classify " + clip.path() + image), 1, "give the labels of the classes");
  check_error(weft("classify " + clip.path() + image + labels + " --template 'a photo'"), 1,
              "the template 'a photo' lacks {}");
  check_error(weft("classify " + clip.path() + image + " --template 'a {}'"), 2, "--labels");
  check_error(weft("classify " + clip.path() + " missing.png" + labels), 1, "missing.png");
  std::string words;
  for (int i = 0; i < 30; ++i) words += "film ";
  check_error(weft("classify " + clip.path() + image + "--labels '" + words + "'"), 2, "tokens");
  BOOST_TEST(weft("classify " + clip.path() + image + "--truncate --labels '" + words + "'").code ==
             0);
  const TinyFolder bert("bert", "ForSequenceClassification");
  check_error(weft("classify " + bert.path() + " text" + labels), 1,
              "labels are for models that compare images and texts (CLIP, SigLIP)");
  const TinyTowers text("clip_text_model", "CLIPTextModel");
  check_error(weft("classify " + text.path() + image + labels), 1, "a text tower alone");
}

Tensor vectors_in(const std::string& path) { return read_safetensors(path).tensors.at("vectors"); }

BOOST_AUTO_TEST_CASE(texts_and_images_are_embedded_in_one_space) {
  const Shell weft;
  for (const auto& [type, architecture, width] :
       {std::tuple{"clip", "CLIPModel", 12}, {"siglip", "SiglipModel", 16}}) {
    BOOST_TEST_CONTEXT(architecture) {
      const TinyTowers folder(type, architecture);
      const auto run = [&](const std::string& arguments) {
        const Outcome out = weft("embed " + folder.path() + " " + arguments);
        BOOST_TEST_REQUIRE(out.code == 0, out.err);
        return out.out;
      };
      run("'the film' 'a river' --out " + weft.path("texts.safetensors"));
      run("--images " + kImages + "/0.png " + kImages + "/1.png --out " +
          weft.path("images.safetensors"));
      const Tensor texts = vectors_in(weft.path("texts.safetensors")),
                   images = vectors_in(weft.path("images.safetensors"));
      BOOST_TEST((texts.sizes() == Sizes{2, width}));
      BOOST_TEST((images.sizes() == Sizes{2, width}));
      for (const Tensor& vectors : {texts, images}) {
        double square = 0;
        for (std::int64_t i = 0; i < width; ++i) square += vectors.at(i) * vectors.at(i);
        BOOST_TEST(std::abs(square - 1) < 1e-5);
      }
      // Images of a folder for a text, and lines of a file for an image.
      const json by_text =
          json::parse(run("'the film' --similar " + kImages + " --top 4 --json")).at("similar");
      BOOST_TEST(by_text.size() == 4U);
      BOOST_TEST(by_text[0].at("image").get<std::string>().ends_with(".png"));
      weft.write("lines.txt", "the film\na river\n");
      const json by_image = json::parse(run("--images " + kImages + "/0.png --similar " +
                                            weft.path("lines.txt") + " --json"))
                                .at("similar");
      double cosine = 0;
      for (std::int64_t i = 0; i < width; ++i)
        cosine += images.at(i) * texts.at((by_image[0].at("line") == 2 ? width : 0) + i);
      BOOST_TEST(std::abs(by_image[0].at("cosine").get<double>() - cosine) < 1e-4);
      run("--images " + kImages + " --dimensions 3 --no-normalise --out " +
          weft.path("all.safetensors"));
      BOOST_TEST((vectors_in(weft.path("all.safetensors")).sizes() == Sizes{24, 3}));
      check_error(weft("embed " + folder.path() + " text --images " + kImages + " --json"), 2,
                  "give either texts or --images");
      check_error(weft("embed " + folder.path() + " text --pool cls --json"), 2,
                  "--pool and prompts are for text encoders");
      check_error(weft("embed " + folder.path() + " --images " + kImages + " --prompt x --json"), 2,
                  "prompts are for texts, not for --images");
      check_error(weft("embed " + folder.path() + " --images " + kImages + " --pool cls --json"), 2,
                  "--pool is for texts, not for --images");
      check_error(weft("embed " + folder.path() + " --images " + kImages + " --truncate --json"), 2,
                  "--truncate is for texts, not for --images");
      check_error(
          weft("embed " + folder.path() + " text --similar " + kImages + " --similar-prompt x"), 2,
          kImages + " is a folder of images");
      check_error(
          weft("embed " + folder.path() + " --images " + kImages + " --dimensions 99 --json"), 1,
          "99 dimensions were requested, but the vectors have");
    }
  }
}

BOOST_AUTO_TEST_CASE(vision_models_with_and_without_heads_embed_images) {
  const Shell weft;
  for (const auto& [type, architecture, width] :
       {std::tuple{"clip_vision_model", "CLIPVisionModel", 16},
        {"clip_vision_model", "CLIPVisionModelWithProjection", 12},
        {"siglip_vision_model", "SiglipVisionModel", 16},
        {"clip", "CLIPForImageClassification", 16},
        {"siglip", "SiglipForImageClassification", 16},
        {"vit", "ViTModel", 16},
        {"vit", "ViTForImageClassification", 16},
        {"vit", "ViTForMaskedImageModeling", 16},
        {"vit_mae", "ViTMAEForPreTraining", 16}}) {
    BOOST_TEST_CONTEXT(architecture) {
      json config = image_text_config(type, architecture);
      if (std::string_view(type).starts_with("vit"))
        config = testing::vision_config(type, architecture);
      const TinyFolder folder(config, false);
      folder.write("preprocessor_config.json", kPixels);
      const std::string arguments = " --images " + kImages + " --out ";
      const Outcome out = weft("embed " + folder.path() + arguments + weft.path("v.safetensors"));
      BOOST_TEST_REQUIRE(out.code == 0, out.err);
      const Tensor vectors = vectors_in(weft.path("v.safetensors"));
      BOOST_TEST((vectors.sizes() == Sizes{24, width}));
      // The vectors of a converted file are the same.
      BOOST_TEST_REQUIRE(
          weft("convert " + folder.path() + " --out " + weft.path("m.weft --force")).code == 0);
      BOOST_TEST_REQUIRE(
          weft("embed " + weft.path("m.weft") + arguments + weft.path("w.safetensors")).code == 0);
      BOOST_TEST(bitwise_equal(vectors_in(weft.path("w.safetensors")), vectors));
      check_error(weft("embed " + folder.path() + " text --json"), 2, "has no text encoder");
    }
  }
  const TinyFolder bert("bert", "Model");
  check_error(weft("embed " + bert.path() + " --images " + kImages + " --json"), 1,
              "a text encoder, which has no image encoder");
}

BOOST_AUTO_TEST_CASE(folders_without_preprocessing_or_tokenizer_are_rejected) {
  const TinyFolder pixels(image_text_config("clip", "CLIPModel"));
  BOOST_CHECK_EXCEPTION(load_any_model(pixels.path()), FormatError,
                        message_contains({pixels.path(), "holds no preprocessor_config.json"}));
  const TinyFolder text(image_text_config("clip", "CLIPModel"), false);
  text.write("preprocessor_config.json", kPixels);
  BOOST_CHECK_EXCEPTION(load_any_model(text.path()), FormatError,
                        message_contains({text.path(), "has no tokenizer"}));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
