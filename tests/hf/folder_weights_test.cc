// Weights in model folders: tensor names with and without the prefix of the base model, file names,
// and files of other formats. Also settings files with keys that the user ignores.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/hf/origin.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/serialization/tensor_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(folder_weights)
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::says;
using testing::TemporaryFolder;

std::string golden(const std::string& name) {
  return std::string(WEFT_FIXTURES) + "/goldens/" + name;
}

/// Returns the weights of a class, by Weft's names, from tensors with other names.
std::map<std::string, Tensor> weights(const hf::Folder& folder, const std::string& architecture) {
  Graph graph;
  const hf::Model model =
      hf::build_model(graph, folder.config, hf::minimal_inputs(folder.config), architecture);
  std::map<std::string, Tensor> result;
  for (auto& [variable, tensor] : hf::match_weights(model, graph, folder.weights, folder.path))
    result[variable.name()] = tensor;
  return result;
}

struct Family {
  std::string folder, base, base_class;
};
const std::vector<Family> kFamilies = {
    {"albert-mlm-default", "albert.", "AlbertModel"},
    {"bert-qa-default", "bert.", "BertModel"},
    {"deberta-mlm-c2p-only", "deberta.", "DebertaModel"},
    {"debertav2-mlm-conv", "deberta.", "DebertaV2Model"},
    {"deit-teacher-default", "deit.", "DeiTModel"},
    {"distilbert-seqcls-regression", "distilbert.", "DistilBertModel"},
    {"electra-discriminator-default", "electra.", "ElectraModel"},
    {"gpt-neox-default", "gpt_neox.", "GPTNeoXModel"},
    {"gpt2-default", "transformer.", "GPT2Model"},
    {"llama-gqa", "model.", "LlamaModel"},
    {"marian-default", "model.", "MarianModel"},
    {"mbart-default", "model.", "MBartModel"},
    {"mistral-sliding-window", "model.", "MistralModel"},
    {"openai-gpt-default", "transformer.", "OpenAIGPTModel"},
    {"qwen3-default", "model.", "Qwen3Model"},
    {"roberta-mlm-default", "roberta.", "RobertaModel"},
    {"beit-shared-bias-other-size", "beit.", "BeitModel"},
    {"data2vec-vision", "data2vec_vision.", "Data2VecVisionModel"},
    {"dinov2-cls", "dinov2.", "Dinov2Model"},
    {"swin-padded-not-square", "swin.", "SwinModel"},
    {"vit-mae-normalised-pixels", "vit.", "ViTMAEModel"},
    {"vit-mim-default", "vit.", "ViTModel"},
    {"vit-msn", "vit.", "ViTMSNModel"}};

BOOST_AUTO_TEST_CASE(names_with_and_without_the_prefix_of_the_base_model_are_equivalent) {
  for (const Family& family : kFamilies) {
    BOOST_TEST_CONTEXT(family.folder) {
      const hf::Folder folder = hf::read_folder(golden(family.folder));
      const auto expected = weights(folder, {});
      hf::Folder bare = folder;
      bare.weights.clear();
      bool has_prefix = false;
      for (const auto& [name, tensor] : folder.weights) {
        const bool base = name.starts_with(family.base);
        has_prefix = has_prefix || base;
        bare.weights[base ? name.substr(family.base.size()) : name] = tensor;
      }
      BOOST_TEST(has_prefix);
      const auto found = weights(bare, {});
      BOOST_TEST(found.size() == expected.size());
      for (const auto& [name, tensor] : found)
        BOOST_TEST(bitwise_equal(tensor, expected.at(name)), name);
    }
  }
}

BOOST_AUTO_TEST_CASE(base_classes_read_the_files_of_classes_with_a_head) {
  for (const Family& family : kFamilies) {
    BOOST_TEST_CONTEXT(family.folder) {
      hf::Folder folder = hf::read_folder(golden(family.folder));
      // The pooler of a base class is missing from the files of some other classes.
      for (const char* name : {"pooler.dense.", "pooler."}) {
        for (const char* part : {"weight", "bias"}) {
          const bool albert = family.base == "albert.", dense = std::string(name) != "pooler.";
          const bool has = family.base == "bert." || family.base == "roberta." ||
                           family.base_class == "ViTModel" || family.base == "deit.";
          if (!(dense ? has : albert)) continue;
          const std::int64_t width = json::parse(folder.config).at("hidden_size");
          folder.weights.emplace(family.base + name + part,
                                 std::string(part) == "bias"
                                     ? Tensor::zeros(DType::f32, {width})
                                     : Tensor::zeros(DType::f32, {width, width}));
        }
      }
      BOOST_TEST(!weights(folder, family.base_class).empty());
      folder.weights[family.base + "surplus"] = Tensor::zeros(DType::f32, {1});
      BOOST_CHECK_EXCEPTION(weights(folder, family.base_class), FormatError,
                            says("unexpected: '" + family.base + "surplus'"));
    }
  }
}

BOOST_AUTO_TEST_CASE(t5_files_may_have_the_prefix_that_the_library_removes) {
  const hf::Folder folder = hf::read_folder(golden("t5-v1.1-default"));
  hf::Folder other = folder;
  other.weights.clear();
  for (const auto& [name, tensor] : folder.weights)
    other.weights[(name.starts_with("lm_head") ? "" : "transformer.") + name] = tensor;
  BOOST_TEST(weights(other, {}).size() == weights(folder, {}).size());
}

/// Writes the config and the tensors of a small golden folder. Returns the number of tensors.
std::size_t write_model(const TemporaryFolder& to, const std::string& file) {
  to.write("config.json", read_whole_file(golden("distilbert-seqcls-regression/config.json")));
  to.write(file, read_whole_file(golden("distilbert-seqcls-regression/model.safetensors")));
  return read_safetensors(to.path(file)).tensors.size();
}

BOOST_AUTO_TEST_CASE(weights_may_have_any_name_that_is_unambiguous) {
  for (const char* name : {"model.safetensors", "model.fp16.safetensors", "weights.safetensors",
                           "model-00001-of-00001.safetensors"}) {
    const TemporaryFolder folder;
    const std::size_t count = write_model(folder, name);
    folder.write("adapter_model.safetensors", "not read");
    BOOST_TEST(hf::read_folder(folder.path()).weights.size() == count, name);
  }
  for (const char* index : {"model.safetensors.index.json", "model.safetensors.index.fp16.json",
                            "diffusion.safetensors.index.json"}) {
    const TemporaryFolder folder;
    const std::size_t count = write_model(folder, "part-a.safetensors");
    folder.write("other.safetensors", "not read");
    folder.write(index, json{{"weight_map", {{"any", "part-a.safetensors"}}}}.dump());
    BOOST_TEST(hf::read_folder(folder.path()).weights.size() == count, index);
  }
  const TemporaryFolder two;
  write_model(two, "a.safetensors");
  two.write("b.safetensors", "x");
  BOOST_CHECK_EXCEPTION(
      hf::read_folder(two.path()), IoError,
      testing::message_contains({two.path(),
                                 "contains no model.safetensors, but a.safetensors, "
                                 "b.safetensors: rename the file with the weights"}));
}

struct Foreign {
  std::string name, bytes, about;
};

const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f"
    "32b1258daaa5e2ca24d17e2393\nsize 12345\n";

std::vector<Foreign> foreign_files() {
  using namespace std::string_literals;
  return {{"model.safetensors", kPointer, "a Git LFS pointer instead of the file itself"},
          {"model.safetensors", "<!DOCTYPE html><html><body>404</body></html>", "an HTML"},
          {"model.safetensors", "\n<html lang=\"en\">", "an HTML"},
          {"model.safetensors", "PK\x03\x04 data data data", "a ZIP archive, such as a PyTorch"},
          {"model.safetensors", "\x80\x02}q\x00."s + std::string(20, 'x'), "a Python pickle"},
          {"model.safetensors", "\x89HDF\r\n\x1a\n"s + std::string(20, '\0'), "an HDF5 file"},
          {"model.safetensors", "GGUF\x03\0\0\0"s + std::string(20, '\0'), "a GGUF file"},
          {"model.safetensors", "\x08\x07\x12\x07pytorch"s, "an ONNX model"},
          {"model.safetensors", "\x89weft\r\n\x1a"s + std::string(50, '\0'), "a .weft file"},
          {"model.safetensors", "\x1f\x8b\x08"s + std::string(20, 'x'), "a gzip archive"},
          {"flax_model.msgpack", "\x81\xa5model"s, "a file of Flax weights"},
          {"tf_model.h5", "xxxxxxxxxxxx", "a file of TensorFlow weights"},
          {"pytorch_model.bin", "xxxxxxxxxxxx", "a file of PyTorch weights"},
          {"model.onnx", "xxxxxxxxxxxx", "an ONNX model"},
          {"model.gguf", "xxxxxxxxxxxx", "a file for llama.cpp"},
          {"model.pt", "xxxxxxxxxxxx", "a PyTorch checkpoint"}};
}

BOOST_AUTO_TEST_CASE(weights_in_other_formats_are_named_with_a_remedy) {
  for (const Foreign& file : foreign_files()) {
    BOOST_TEST_CONTEXT(file.name << ": " << file.about) {
      const TemporaryFolder folder;
      folder.write("config.json", "{}");
      folder.write(file.name, file.bytes);
      BOOST_CHECK_EXCEPTION(hf::read_folder(folder.path()), Error,
                            testing::message_contains({folder.path(), file.about, ": "}));
      // The same file in place of a .weft file or of a tensor file.
      if (file.about == "a .weft file") continue;
      BOOST_CHECK_EXCEPTION(read_tensors(folder.path(file.name)), Error,
                            testing::message_contains({folder.path(file.name), file.about}));
      BOOST_CHECK_EXCEPTION(load_checkpoint(folder.path(file.name)), FormatError, says(file.about));
    }
  }
}

BOOST_AUTO_TEST_CASE(pointers_and_pages_in_place_of_settings_and_shards_are_named) {
  const TemporaryFolder folder;
  write_model(folder, "part.safetensors");
  folder.write("model.safetensors.index.json", R"({"weight_map": {"x": "gone.safetensors"}})");
  folder.write("gone.safetensors", kPointer);
  BOOST_CHECK_EXCEPTION(hf::read_folder(folder.path()), Error,
                        testing::message_contains({"gone.safetensors", "a Git LFS pointer"}));
  for (const char* name : {"config.json", "model.safetensors.index.json"}) {
    for (const auto& [bytes, about] :
         {std::pair{kPointer, "a Git LFS pointer"}, {std::string("<html></html>"), "an HTML"}}) {
      const TemporaryFolder other;
      write_model(other, "part.safetensors");
      other.write(name, bytes);
      BOOST_CHECK_EXCEPTION(hf::read_folder(other.path()), Error,
                            testing::message_contains({other.path(name), about}));
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_in_config_json_name_the_folder) {
  const TemporaryFolder folder;
  write_model(folder, "model.safetensors");
  folder.write("config.json", "{\"a\": }");
  BOOST_CHECK_EXCEPTION(hf::read_folder(folder.path()), FormatError,
                        says(folder.path("config.json") + " is not valid JSON at line 1"));
  folder.write("config.json", "[]");
  BOOST_CHECK_EXCEPTION(hf::read_folder(folder.path()), FormatError,
                        says(folder.path("config.json") + " is not a JSON object"));
}

BOOST_AUTO_TEST_CASE(ignored_keys_are_removed_from_every_settings_file) {
  const TemporaryFolder folder;
  write_model(folder, "model.safetensors");
  json config = json::parse(read_whole_file(folder.path("config.json")));
  config["flavour"] = {{"inner", 1}, {"kept", 2}};
  folder.write("config.json", config.dump());
  for (const char* name : {"generation_config.json", "2_Dense/config.json"})
    folder.write(name, R"({"taste": 1, "bos_token_id": 3})");
  const auto read = [&](std::vector<std::string> keys) {
    return hf::read_folder({folder.path(), std::move(keys)});
  };
  BOOST_TEST(json::parse(read({"flavour"}).config).contains("flavour") == false);
  BOOST_TEST(json::parse(read({"flavour.inner"}).config)["flavour"] == json({{"kept", 2}}));
  BOOST_TEST((json::parse(read({"taste"}).config) == config));
  const hf::Folder without = read({"taste", "flavour"});
  BOOST_TEST(hf::read_generation_config(without).bos_id == 3);
  BOOST_TEST(without.text("2_Dense/config.json").find("taste") == std::string::npos);
  BOOST_TEST(without.text("absent.json").empty());
  // The files that are kept with a converted model do not contain the keys, either.
  const hf::FolderOrigin origin = hf::read_origin(without);
  BOOST_TEST(origin.text("config.json") == without.config);
  BOOST_TEST(origin.text("generation_config.json").find("taste") == std::string::npos);
  BOOST_CHECK_EXCEPTION(
      read({"flavor"}), ArgumentError,
      testing::message_contains(
          {folder.path(), "the key 'flavor', so it cannot be ignored", "did you mean 'flavour'?"}));
  BOOST_CHECK_EXCEPTION(hf::is_folder({folder.path("config.json"), {"x"}}), ArgumentError,
                        says("--ignore-config-key is for model folders"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
