// CLIP and SigLIP: keys of both towers, files of earlier versions, classes.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/export.h"
#include "weft/models/hf/folder.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(hf_image_text)
namespace {

using nlohmann::json;
using testing::says;

json golden_config(const std::string& name) {
  return json::parse(
      read_whole_file(std::string(WEFT_FIXTURES) + "/goldens/" + name + "/config.json"));
}

hf::Model build(Graph& graph, const json& config, const std::string& architecture = {}) {
  return hf::build_model(graph, config.dump(), hf::minimal_inputs(config.dump()), architecture);
}
ImageTextConfig towers_of(const json& config) {
  Graph graph;
  return std::get<ImageTextConfig>(build(graph, config).family.value());
}
void rejects(const json& config, const std::string& message) {
  BOOST_CHECK_EXCEPTION(towers_of(config), Error, says(message));
}

BOOST_AUTO_TEST_CASE(the_defaults_of_all_keys_are_those_of_transformers) {
  const ImageTextConfig clip =
      towers_of({{"model_type", "clip"}, {"architectures", {"CLIPModel"}}});
  BOOST_TEST((clip == ImageTextConfig()));
  BOOST_TEST((clip.text == clip_text_tower()));
  BOOST_TEST((clip.image == clip_image_tower()));
  const ImageTextConfig siglip = towers_of({{"model_type", "siglip"},
                                            {"architectures", {"SiglipModel"}},
                                            {"text_config", {{"projection_size", nullptr}}}});
  BOOST_TEST(siglip.projection == 768);
  BOOST_TEST(siglip.text.context == 64);
  BOOST_TEST(siglip.image.patch_height == 16);
}

BOOST_AUTO_TEST_CASE(the_wrong_end_id_of_the_first_clip_files_selects_the_largest_id) {
  json config = golden_config("clip-two-towers");
  BOOST_TEST((towers_of(config).text_pooling == TextTowerPooling::end_of_text));
  BOOST_TEST(towers_of(config).end_id == 60);
  config["text_config"]["eos_token_id"] = 2;
  BOOST_TEST((towers_of(config).text_pooling == TextTowerPooling::largest_id));
  const ImageTextConfig read = towers_of(config);
  const std::string written = hf::config_json(read, {"Model"});
  BOOST_TEST(json::parse(written)["text_config"]["eos_token_id"] == 2);
  BOOST_TEST((towers_of(json::parse(written)) == read));
}

BOOST_AUTO_TEST_CASE(towers_may_be_described_twice_if_the_descriptions_agree) {
  for (const char* key : {"text_config", "vision_config"}) {
    const std::string legacy = std::string(key) + "_dict";
    const json config = golden_config("clip-two-towers");
    const ImageTextConfig before = towers_of(config);
    json twice = config;
    twice[legacy] = config.at(key);
    BOOST_TEST((towers_of(twice) == before));
    twice.erase(key);
    BOOST_TEST((towers_of(twice) == before));  // files before version 4.27
    twice[key] = nullptr;
    BOOST_TEST((towers_of(twice) == before));
    twice[key] = config.at(key);
    twice[legacy]["intermediate_size"] = 40;
    rejects(twice, std::string("config.json: ") + key + " and " + legacy +
                       ", which describe the same tower, contradict each other");
    twice[legacy] = nullptr;
    BOOST_TEST((towers_of(twice) == before));
  }
}

BOOST_AUTO_TEST_CASE(a_changed_tower_is_described_once_in_exported_folders) {
  for (const bool both : {true, false}) {
    json config = golden_config("clip-two-towers");
    for (const char* key : {"text_config", "vision_config"})
      config[std::string(key) + "_dict"] = config.at(key);
    if (!both) config.erase("vision_config");
    ImageTextConfig towers = towers_of(config);
    towers.image.image_height *= 2;
    const json written = json::parse(
        hf::export_model({.family = towers, .weights = {}, .endings = {"Model"}}, config.dump())
            .config);
    BOOST_TEST(!written.contains("vision_config_dict"));
    BOOST_TEST(written.contains("text_config_dict"));
    BOOST_TEST((towers_of(written) == towers));
  }
}

BOOST_AUTO_TEST_CASE(keys_of_towers_are_applied_or_rejected_by_name) {
  for (const char* name : {"clip-two-towers", "siglip-two-towers"}) {
    for (const char* key : {"text_config", "vision_config"}) {
      BOOST_TEST_CONTEXT(name << " " << key) {
        const json config = golden_config(name);
        json changed = config;
        changed[key]["attention_flavour"] = 3;
        rejects(changed, std::string("config.json: unknown key ") + key + ".attention_flavour = 3");
        changed[key]["attention_flavour"] = nullptr;
        BOOST_TEST((towers_of(changed) == towers_of(config)));
        changed[key]["model_type"] = "bert";
        rejects(changed, std::string(key) + ".model_type is \"bert\"");
        // Settings of no effect, as the first files contain them.
        changed = config;
        changed[key].update({{"dropout", 0.0},
                             {"initializer_factor", 1.0},
                             {"num_beams", 1},
                             {"tie_word_embeddings", true},
                             {"torchscript", false},
                             {"id2label", {{"0", "LABEL_0"}}}});
        BOOST_TEST((towers_of(changed) == towers_of(config)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(sizes_of_towers_beyond_the_limits_are_rejected_before_anything_is_built) {
  for (const char* name : {"clip-two-towers", "siglip-two-towers"}) {
    for (const auto& [key, tower] :
         {std::pair{"text_config", "text"}, {"vision_config", "image"}}) {
      json config = golden_config(name);
      config[key]["num_hidden_layers"] = std::int64_t{1} << 40;
      rejects(config, std::string(tower) + " tower: layers must be at most");
    }
  }
}

BOOST_AUTO_TEST_CASE(siglip_without_a_head_has_no_vectors_of_images) {
  json config = golden_config("siglip-two-towers");
  config["vision_config"]["vision_use_head"] = false;
  rejects(config, "vision_config.vision_use_head is false, but SiglipModel needs the head");
  config["architectures"] = {"SiglipVisionModel"};
  Graph graph;
  const hf::Model tower = build(graph, config);
  BOOST_TEST(tower.outputs.contains("last_hidden_state"));
  BOOST_TEST(!tower.outputs.contains("pooler_output"));
  BOOST_TEST(!graph.has_variable("image.pool.query"));
}

/// Returns the outputs of a class with the weights of a golden folder.
TensorMap run(const std::string& golden, const std::string& architecture) {
  const hf::Folder folder = hf::read_folder(std::string(WEFT_FIXTURES) + "/goldens/" + golden);
  json config = json::parse(folder.config);
  config["architectures"] = {architecture};
  // CLIPModel reads the outer projection_dim, and a single tower the one in its section.
  if (config.contains("projection_dim")) {
    config["text_config"]["projection_dim"] = config["projection_dim"];
    config["vision_config"]["projection_dim"] = config["projection_dim"];
  }
  NamedTensors inputs;
  const hf::InputTypes needed = hf::minimal_inputs(config.dump());
  for (const auto& [name, tensor] : read_safetensors(folder.path + "/inputs.safetensors").tensors) {
    if (needed.contains(name)) inputs.emplace_back(name, tensor);
  }
  Graph graph;
  const hf::Model model = hf::build_model(graph, config.dump(),
                                          hf::input_types(TensorMap(inputs.begin(), inputs.end())));
  Program program("p");
  for (const auto& [name, value] : model.outputs) program.output(name, value);
  const auto store = hf::load_weights(model, graph, folder);
  for (const auto& [name, tensor] : hf::export_weights(model, graph, *store))
    BOOST_TEST(bitwise_equal(folder.weights.at(name), tensor), name);
  const Results results = Session(graph, store, {.threads = 1}).run(program, inputs);
  TensorMap outputs;
  for (const auto& [name, value] : model.outputs) outputs[name] = results[name];
  return outputs;
}

void check_close(const Tensor& found, const Tensor& expected) {
  BOOST_REQUIRE((found.sizes() == expected.sizes()));
  for (std::int64_t i = 0; i < found.numel(); ++i)
    BOOST_TEST(std::abs(found.at(i) - expected.at(i)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(single_towers_compute_the_outputs_of_the_whole_model) {
  for (const auto& [golden, prefix] :
       {std::pair{"clip-two-towers", "CLIP"}, {"siglip-two-towers", "Siglip"}}) {
    BOOST_TEST_CONTEXT(golden) {
      const std::string name = prefix;
      const TensorMap whole = run(golden, name + "Model");
      const TensorMap text = run(golden, name + "TextModel");
      const TensorMap vision = run(golden, name + "VisionModel");
      check_close(vision.at("pooler_output"), whole.at("vision_model_output.pooler_output"));
      check_close(vision.at("last_hidden_state"),
                  whole.at("vision_model_output.last_hidden_state"));
      BOOST_TEST(vision.contains("hidden.2"));
      if (name == "CLIP") {
        // The golden inputs have an attention mask, which changes hidden states of padding only.
        BOOST_TEST(run(golden, "CLIPTextModelWithProjection").at("text_embeds").size(1) == 15);
        BOOST_TEST(run(golden, "CLIPVisionModelWithProjection").at("image_embeds").size(1) == 15);
        continue;
      }
      check_close(text.at("pooler_output"), whole.at("text_model_output.pooler_output"));
      check_close(text.at("last_hidden_state"), whole.at("last_hidden_state"));
    }
  }
}

BOOST_AUTO_TEST_CASE(buffers_of_earlier_versions_are_ignored) {
  hf::Folder folder = hf::read_folder(std::string(WEFT_FIXTURES) + "/goldens/clip-two-towers");
  folder.weights["text_model.embeddings.position_ids"] = Tensor::full(DType::i64, {1, 16}, 0);
  folder.weights["vision_model.embeddings.position_ids"] = Tensor::full(DType::i64, {1, 10}, 0);
  Graph graph;
  const hf::Model model = build(graph, json::parse(folder.config));
  BOOST_TEST(hf::load_weights(model, graph, folder) != nullptr);
  folder.weights.erase("vision_model.embeddings.class_embedding");
  BOOST_CHECK_EXCEPTION(hf::load_weights(model, graph, folder), FormatError,
                        says("vision_model.embeddings.class_embedding"));
}

BOOST_AUTO_TEST_CASE(unsupported_classes_are_rejected) {
  Graph graph;
  json config = golden_config("clip-two-towers");
  BOOST_CHECK_EXCEPTION(build(graph, config, "CLIPSegModel"), ArgumentError,
                        says("the class CLIPSegModel of model_type \"clip\" is not supported"));
  BOOST_CHECK_EXCEPTION(build(graph, config, "CLIPTextModelWithHead"), ArgumentError,
                        says("CLIPTextModelWithHead"));
  config = golden_config("siglip-two-towers");
  BOOST_CHECK_EXCEPTION(build(graph, config, "SiglipTextModelWithProjection"), ArgumentError,
                        says("SiglipTextModelWithProjection"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
