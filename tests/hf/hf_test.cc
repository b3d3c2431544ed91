// Hugging Face model folders: supported and rejected keys and inputs, and exact round trips.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "weft/core/error.h"
#include "weft/models/hf/folder.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(hf)
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kGoldens = std::string(WEFT_FIXTURES) + "/goldens/";

using testing::says;

json config_of(const std::string& name) {
  return json::parse(read_whole_file(kGoldens + name + "/config.json"));
}

hf::InputTypes ids() { return {{"input_ids", {DType::i64, {2, 5}}}}; }

hf::Model build(const json& config, const hf::InputTypes& inputs = ids(),
                const std::string& architecture = {}) {
  Graph graph;
  return hf::build_model(graph, config.dump(), inputs, architecture);
}

void check_refused(const json& config, const std::string& message) {
  BOOST_CHECK_EXCEPTION(build(config), ArgumentError, says(message));
}

BOOST_AUTO_TEST_CASE(every_key_is_read_or_rejected_by_name) {
  json config = config_of("bert-qa-default");
  BOOST_TEST(build(config).outputs.contains("start_logits"));
  config["attention_flavour"] = "vanilla";
  check_refused(config, "unknown key attention_flavour = \"vanilla\" for model_type \"bert\"");
  config = config_of("bert-qa-default");
  config["pruned_heads"] = {{"0", {1}}};
  check_refused(config, "pruned_heads is {\"0\":[1]}: pruned models are not supported");
  config = config_of("bert-qa-default");
  config["is_decoder"] = true;
  check_refused(config, "is_decoder is true");
  config = config_of("bert-qa-default");
  config["position_embedding_type"] = "rotary";
  check_refused(config, "position_embedding_type \"rotary\" is not supported");
  config = config_of("bert-qa-default");
  config["hidden_act"] = "gelo";
  check_refused(config, "unknown activation 'gelo'");
  config = config_of("bert-qa-default");
  config["hidden_size"] = "wide";
  BOOST_CHECK_EXCEPTION(build(config), FormatError, says("'hidden_size' must be an integer"));
  config = config_of("bert-qa-default");
  config["model_type"] = "birt";
  check_refused(config,
                "model_type is \"birt\" (did you mean 'bart'?); supported are albert, bart, ");
  BOOST_CHECK_EXCEPTION(build(config_of("bert-qa-default"), ids(), "BertForMultipleChoice"),
                        ArgumentError,
                        says("the class BertForMultipleChoice of model_type "
                             "\"bert\" is not supported"));
  config = config_of("deberta-mlm-c2p-only");
  config["pos_att_type"] = {"c2p", "p2p"};
  check_refused(config, "pos_att_type contains \"p2p\"");
  config = config_of("deberta-mlm-c2p-only");
  config["talking_head"] = true;
  check_refused(config, "talking heads are not supported");
  config = config_of("deberta-mlm-c2p-only");
  config["pos_att_type"] = "c2p|p2c";
  BOOST_TEST(build(config).outputs.contains("logits"));
}

BOOST_AUTO_TEST_CASE(every_input_is_used_or_rejected_by_name) {
  const json config = config_of("distilbert-seqcls-regression");
  hf::InputTypes inputs = ids();
  inputs["token_type_ids"] = {DType::i64, {2, 5}};
  BOOST_CHECK_EXCEPTION(
      build(config, inputs), ArgumentError,
      says("DistilBertForSequenceClassification does not use the input token_type_ids"));
  BOOST_CHECK_EXCEPTION(build(config, {}), ArgumentError, says("requires the input input_ids"));
  inputs = ids();
  inputs["attention_mask"] = {DType::i64, {2}};
  BOOST_CHECK_EXCEPTION(build(config, inputs), ShapeError,
                        says("the input attention_mask must have 2 axes, but has 1"));
}

BOOST_AUTO_TEST_CASE(classes_built_from_one_folder_share_its_encoder) {
  const json config = config_of("bert-qa-default");
  for (const char* name : {"BertModel", "BertForMaskedLM", "BertForPreTraining",
                           "BertForNextSentencePrediction", "BertForSequenceClassification",
                           "BertForTokenClassification", "BertForQuestionAnswering"}) {
    Graph graph;
    const hf::Model model = hf::build_model(graph, config.dump(), ids(), name);
    const std::string query = "layers.1.attention.query.weight";
    BOOST_TEST(graph.has_variable(query));
    const std::string prefix = std::string(name) == "BertModel" ? "" : "bert.";
    const std::string theirs = prefix + "encoder.layer.1.attention.self.query.weight";
    BOOST_TEST(model.names.theirs(query) == theirs);
    BOOST_TEST(model.names.ours(theirs) == query);
    BOOST_TEST(model.outputs.at("last_hidden_state").type().str() == "f32[batch, seq, 28]");
  }
}

BOOST_AUTO_TEST_CASE(one_error_lists_all_mismatched_tensors) {
  hf::Folder folder = hf::read_folder(kGoldens + "bert-qa-default");
  Graph graph;
  const hf::Model model = hf::build_model(graph, folder.config, ids());
  folder.weights.erase("qa_outputs.bias");
  folder.weights["qa_outputs.weight"] = Tensor::zeros(DType::f32, {3, 28});
  folder.weights["extra"] = Tensor::zeros(DType::f32, {1});
  const auto load = [&] { return hf::load_weights(model, graph, folder); };
  BOOST_CHECK_EXCEPTION(load(), FormatError, says("do not match BertForQuestionAnswering"));
  BOOST_CHECK_EXCEPTION(load(), FormatError, says("missing: 'qa_outputs.bias' f32[2]"));
  BOOST_CHECK_EXCEPTION(
      load(), FormatError,
      says("mismatched: 'qa_outputs.weight' is f32[3, 28], but the variable is f32[2, "));
  BOOST_CHECK_EXCEPTION(load(), FormatError, says("unexpected: 'extra' f32[1]"));
}

BOOST_AUTO_TEST_CASE(tied_tensors_must_be_equal_and_old_names_and_bfloat16_are_supported) {
  hf::Folder folder = hf::read_folder(kGoldens + "albert-mlm-default");
  Graph graph;
  const hf::Model model = hf::build_model(graph, folder.config, ids());
  const std::string table = "albert.embeddings.word_embeddings.weight";
  const std::string norm = "albert.embeddings.LayerNorm.";
  folder.weights["predictions.decoder.weight"] = folder.weights.at(table);
  folder.weights[norm + "gamma"] = folder.weights.at(norm + "weight").to(DType::bf16);
  folder.weights.erase(norm + "weight");
  const auto store = hf::load_weights(model, graph, folder);
  BOOST_TEST(bitwise_equal(store->tensor("embeddings.norm.weight"),
                           folder.weights.at(norm + "gamma").to(DType::f32)));
  folder.weights["predictions.decoder.weight"] =
      Tensor::zeros(DType::f32, folder.weights.at(table).sizes());
  BOOST_CHECK_EXCEPTION(hf::load_weights(model, graph, folder), FormatError,
                        says("conflict: '" + table + "' and 'predictions.decoder.weight'"));
}

BOOST_AUTO_TEST_CASE(a_model_folder_round_trips_exactly) {
  const fs::path path = fs::temp_directory_path() / ("weft_hf_" + std::to_string(getpid()));
  const hf::Folder folder = hf::read_folder(kGoldens + "electra-discriminator-default");
  Graph graph;
  const hf::Model model = hf::build_model(graph, folder.config, ids());
  hf::write_folder(path.string(), model, graph, *hf::load_weights(model, graph, folder));
  const hf::Folder copy = hf::read_folder(path.string());
  BOOST_TEST(copy.config == folder.config);
  BOOST_TEST(copy.weights.size() == folder.weights.size() - 1);  // all except position_ids
  for (const auto& [name, tensor] : copy.weights)
    BOOST_TEST(bitwise_equal(tensor, folder.weights.at(name)), name);

  // Write the same folder with the weights split into two files.
  TensorMap first, second;
  json map;
  for (const auto& [name, tensor] : copy.weights) {
    const bool odd = map.size() % 2 == 1;
    map[name] = odd ? "b.safetensors" : "a.safetensors";
    (odd ? second : first)[name] = tensor.clone();
  }
  write_safetensors((path / "a.safetensors").string(), first);
  write_safetensors((path / "b.safetensors").string(), second);
  fs::remove(path / "model.safetensors");
  BOOST_CHECK_EXCEPTION(hf::read_folder(path.string()), IoError, says("no model.safetensors"));
  std::ofstream(path / "model.safetensors.index.json") << json{{"weight_map", map}};
  BOOST_TEST(hf::read_folder(path.string()).weights.size() == first.size() + second.size());
  map["x"] = "../b.safetensors";
  std::ofstream(path / "model.safetensors.index.json") << json{{"weight_map", map}};
  BOOST_CHECK_EXCEPTION(hf::read_folder(path.string()), FormatError, says("not a file name"));
  fs::remove_all(path);
}

BOOST_AUTO_TEST_CASE(encoder_decoders_read_or_reject_every_key) {
  const hf::InputTypes both = {{"input_ids", {DType::i64, {2, 5}}},
                               {"decoder_input_ids", {DType::i64, {2, 4}}}};
  const auto rejects = [&](const char* folder, const char* key, const json& value,
                           const std::string& message) {
    json config = config_of(folder);
    config[key] = value;
    BOOST_CHECK_EXCEPTION(build(config, both), ArgumentError, says(message));
  };
  rejects("t5-v1.1-default", "feed_forward_proj", "wide-gelu", "feed_forward_proj \"wide-gelu\"");
  rejects("t5-v1.1-default", "is_encoder_decoder", false, "is_encoder_decoder is false");
  rejects("t5-v1.1-default", "d_sparse", 3, "unknown key d_sparse = 3 for model_type \"t5\"");
  rejects("mbart-default", "normalize_before", false, "mBART is a pre-norm model");
  rejects("marian-default", "normalize_embedding", true,
          "Marian has no layer norm after the embeddings");
  json config = config_of("t5-v1.1-default");
  BOOST_CHECK_EXCEPTION(build(config), ArgumentError, says("requires the input decoder_input_ids"));
  config["architectures"] = {"T5EncoderModel"};
  BOOST_TEST(build(config).outputs.contains("hidden.2"));
  config["architectures"] = {"T5ForSequenceClassification"};
  BOOST_CHECK_EXCEPTION(build(config, both), ArgumentError,
                        says("the class T5ForSequenceClassification"));
  config = config_of("mbart-default");
  config["architectures"] = {"MBartModel"};
  BOOST_TEST(build(config, both).names.theirs("tokens.weight") == "shared.weight");
  // If there are no decoder input ids, the shifted input ids are used.
  BOOST_TEST(build(config).outputs.contains("decoder_hidden.2"));
  config = config_of("marian-default");
  config["share_encoder_decoder_embeddings"] = false;
  config["decoder_vocab_size"] = 107;
  const hf::Model marian = build(config, both);
  BOOST_TEST(marian.names.theirs("decoder.tokens.weight") == "model.decoder.embed_tokens.weight");
  BOOST_TEST(marian.names.theirs("head.bias") == "final_logits_bias");
}

BOOST_AUTO_TEST_CASE(switch_transformers_have_experts_in_every_nth_layer) {
  const hf::InputTypes both = {{"input_ids", {DType::i64, {2, 5}}},
                               {"labels", {DType::i64, {2, 4}}}};
  const json plain = config_of("switch-default");
  json config = plain;
  const auto outputs = [&](const char* stack) {
    std::string found;
    for (const auto& [name, value] : build(config, both).outputs) {
      if (name.starts_with(std::string(stack) + "_router_logits.")) found += name.back();
    }
    return found;
  };
  config.update({{"num_layers", 5}, {"num_decoder_layers", 4}});
  BOOST_TEST(outputs("encoder") == "13");
  config["encoder_sparse_step"] = 3;
  BOOST_TEST(outputs("encoder") == "14");
  // If every layer has experts, the loss of transformers does not contain the losses of the
  // routers.
  config["encoder_sparse_step"] = 1;
  BOOST_TEST(outputs("encoder") == "01234");
  BOOST_TEST(!build(config, both).outputs.contains("encoder_aux_loss"));
  BOOST_TEST(build(config, both).outputs.contains("decoder_z_loss"));
  // The number of layers with experts determines the step if the file lacks it.
  config.erase("encoder_sparse_step");
  config.erase("decoder_sparse_step");
  config.update({{"num_sparse_encoder_layers", 2}, {"num_sparse_decoder_layers", 0}});
  BOOST_TEST(outputs("encoder") == "13");
  // As in transformers, this step is the number of layers, which is not "no layer".
  BOOST_TEST(outputs("decoder") == "1");
  config["decoder_sparse_step"] = 0;
  BOOST_TEST(outputs("decoder").empty());
  config = plain;
  config["architectures"] = {"SwitchTransformersEncoderModel"};
  BOOST_TEST(build(config).outputs.contains("encoder_router_logits.1"));
  config = plain;
  config["router_dtype"] = "bfloat16";
  BOOST_CHECK_EXCEPTION(build(config, both), ArgumentError, says("routers compute in float32"));
  // Keys of published files that no class reads.
  config = plain;
  config.update({{"feed_forward_proj", "relu"},
                 {"is_gated_act", false},
                 {"n_positions", 512},
                 {"router_type", "tokens_masked"}});
  BOOST_TEST(build(config, both).outputs.contains("loss"));
  config = config_of("umt5-default");
  config["scalable_attention"] = true;
  BOOST_TEST(build(config, both).outputs.contains("loss"));
  json blenderbot = {{"model_type", "blenderbot"},
                     {"architectures", {"BlenderbotForConditionalGeneration"}},
                     {"vocab_size", 50},
                     {"d_model", 8},
                     {"encoder_attention_heads", 2},
                     {"decoder_attention_heads", 2},
                     {"encoder_ffn_dim", 8},
                     {"decoder_ffn_dim", 8},
                     {"decoder_layers", 1},
                     {"do_blenderbot_90_layernorm", true},
                     {"extra_layer_norm", false},
                     {"extra_pos_embeddings", 0},
                     {"layernorm_variant", "prelayernorm"},
                     {"normalize_before", true},
                     {"normalize_embedding", false},
                     {"add_final_layer_norm", true}};
  BOOST_TEST(build(blenderbot, both).outputs.contains("loss"));
  blenderbot["normalize_before"] = false;
  BOOST_CHECK_EXCEPTION(build(blenderbot, both), ArgumentError,
                        says("Blenderbot is a pre-norm model"));
}

BOOST_AUTO_TEST_CASE(vision_transformers_read_or_reject_every_key) {
  const auto images = [](std::int64_t height, std::int64_t width, std::int64_t patches) {
    return hf::InputTypes{{"pixel_values", {DType::f32, {2, 3, height, width}}},
                          {"bool_masked_pos", {DType::boolean, {2, patches}}}};
  };
  json config = config_of("vit-mim-default");
  BOOST_TEST(build(config, images(12, 12, 9)).outputs.contains("loss"));
  BOOST_CHECK_EXCEPTION(build(config, images(12, 12, 8)), ShapeError,
                        says("bool_masked_pos must be [batch, 9]"));
  BOOST_CHECK_EXCEPTION(build(config, images(12, 16, 9)), ShapeError,
                        says("images must be [batch, 3, 12, 12]"));
  config["encoder_stride"] = 2;
  BOOST_CHECK_EXCEPTION(build(config, images(12, 12, 9)), ArgumentError,
                        says("encoder_stride 2 must equal the patch_size, 4 x 4"));
  config = config_of("vit-mim-default");
  config["image_size"] = {12, 8};
  BOOST_CHECK_EXCEPTION(build(config, images(12, 8, 6)), ArgumentError, says("a square grid"));
  config["image_size"] = {12, 8, 4};
  BOOST_CHECK_EXCEPTION(build(config, images(12, 8, 6)), FormatError,
                        says("'image_size' must be a size or [height, width]"));
  config = config_of("vit-mim-default");
  config["qkv_norm"] = true;
  BOOST_CHECK_EXCEPTION(build(config, images(12, 12, 9)), ArgumentError,
                        says("unknown key qkv_norm = true for model_type \"vit\""));
  config = config_of("deit-teacher-default");
  const hf::InputTypes plain = {{"pixel_values", {DType::f32, {2, 3, 12, 12}}}};
  const hf::Model deit = build(config, plain);
  BOOST_TEST(deit.names.theirs("distillation_token") == "deit.embeddings.distillation_token");
  config["architectures"] = {"DeiTModel"};
  BOOST_TEST(build(config, plain).outputs.contains("pooler_output"));
  config["architectures"] = {"DeiTForSegmentation"};
  BOOST_CHECK_EXCEPTION(build(config, plain), ArgumentError, says("the class DeiTForSegmentation"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
