// The contract for reading model folders: every key of config.json is applied, known to change
// nothing, or rejected by name. The tables below list the kinds of keys, for every model type.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/hf/config/harmless_keys.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/hf/gpt.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(folder_contract)
namespace {

using nlohmann::json;
using testing::says;

/// One golden folder per model type. Types without a golden folder are in the fixtures
/// *_configs.json.
const std::vector<std::string> kGoldenFolders = {"albert-mlm-default",
                                                 "beit-masked-not-square",
                                                 "beit-shared-bias-other-size",
                                                 "bert-qa-default",
                                                 "clip-two-towers",
                                                 "data2vec-vision",
                                                 "deberta-mlm-c2p-only",
                                                 "debertav2-mlm-conv",
                                                 "deit-teacher-default",
                                                 "dinov2-cls",
                                                 "dinov2-registers-swiglu-other-size",
                                                 "dinov3-vit-gated-masked",
                                                 "distilbert-seqcls-regression",
                                                 "electra-discriminator-default",
                                                 "gpt-neox-default",
                                                 "gpt2-default",
                                                 "llama-gqa",
                                                 "m2m100-default",
                                                 "marian-default",
                                                 "mbart-default",
                                                 "mistral-sliding-window",
                                                 "openai-gpt-default",
                                                 "qwen3-default",
                                                 "roberta-mlm-default",
                                                 "siglip-cls",
                                                 "siglip-two-towers",
                                                 "swin-masked",
                                                 "swin-padded-not-square",
                                                 "switch-default",
                                                 "t5-v1.1-default",
                                                 "umt5-default",
                                                 "vit-mae-normalised-pixels",
                                                 "vit-mim-default",
                                                 "vit-msn",
                                                 "whisper-default"};

const json& listed_configs() {
  static const json all = [] {
    json configs = json::object();
    for (const char* file :
         {"decoder_configs.json", "encoder_configs.json", "long_text_configs.json"})
      configs.update(json::parse(read_whole_file(std::string(WEFT_FIXTURES) + "/" + file)));
    return configs;
  }();
  return all;
}

std::vector<std::string> all_folders() {
  std::vector<std::string> folders = kGoldenFolders;
  for (const auto& [name, config] : listed_configs().items()) {
    if (std::find(folders.begin(), folders.end(), name) == folders.end()) folders.push_back(name);
  }
  return folders;
}
const std::vector<std::string> kFolders = all_folders();

json config_of(const std::string& folder) {
  if (const auto found = listed_configs().find(folder); found != listed_configs().end())
    return *found;
  return json::parse(
      read_whole_file(std::string(WEFT_FIXTURES) + "/goldens/" + folder + "/config.json"));
}

/// Everything that a config determines: the family, the head, and the types of the outputs.
struct Built {
  FamilyConfig family;
  hf::HeadFacts heads;
  std::map<std::string, std::string> outputs;

  friend bool operator==(const Built&, const Built&) = default;
};

Built build(const json& config, std::string architecture = {}) {
  Graph graph;
  const std::string text = config.dump();
  if (architecture.empty()) architecture = hf::architecture_of(text);
  const hf::Model model = hf::build_model(graph, text, hf::minimal_inputs(text), architecture);
  Built built{model.family.value_or(FamilyConfig()), model.heads, {}};
  for (const auto& [name, value] : model.outputs) built.outputs[name] = value.type().str();
  return built;
}

void rejects(const json& config, const std::string& message) {
  BOOST_CHECK_EXCEPTION(build(config), Error, says(message));
}

/// Another valid or invalid value of the same type.
json changed(const json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>() + 3;
  if (value.is_number()) return value.get<double>() * 2 + 0.125;
  if (value.is_string()) return "other";
  if (value.is_array()) return json::array({"other"});
  if (value.is_object()) return json{{"0", "other"}};
  return 3;
}

BOOST_AUTO_TEST_CASE(every_key_changes_the_model_or_is_rejected_or_is_known_to_change_nothing) {
  // Keys that are known for some model types only, apart from those in harmless_keys.h.
  const std::set<std::string> without_effect = {
      "add_bias_logits",
      "cls_dropout",
      "decoder_vocab_size",  // if both stacks share one vocabulary
      "extra_pos_embeddings",
      "force_bos_token_to_be_generated",
      "id2label",  // classes without labels
      "initializer_factor",
      "label2id",
      "n_positions",        // T5
      "num_hidden_layers",  // BART
      "pad_token_id",       // language models
      "pooler_dropout",
      "predict_special_tokens",
      "qa_dropout",
      "reorder_and_upcast_attn",
      "save_step",
      "seq_classif_dropout",
      "sliding_window",  // without use_sliding_window
      "tie_weights_",
      "use_sliding_window"};  // if layer_types is present
  // Keys that have an effect for other decoders, or with other settings.
  const std::set<std::string> of_modernbert = {
      "deterministic_flash_attn", "initializer_cutoff_factor", "repad_logits_with_grad",
      "sparse_pred_ignore_index", "sparse_prediction"};
  const std::set<std::string> of_gte = {"logn_attention_clip1", "unpad_inputs",
                                        "use_memory_efficient_attention"};
  const std::map<std::string, std::set<std::string>> without_effect_in = {
      {"modernbert-mlm", of_modernbert},
      {"modernbert-seqcls-cls", of_modernbert},
      {"modernbert-mean", of_modernbert},
      {"nomic-published",
       {"dense_seq_output", "fused_bias_fc", "fused_dropout_add_ln", "parallel_block_tied_norm",
        "use_flash_attn", "use_xentropy"}},
      {"gte-published", of_gte},
      {"arctic-published", of_gte},
      {"beit-shared-bias-other-size", {"vocab_size"}},
      // Settings of classes for segmentation, and of backbones.
      {"data2vec-vision",
       {"auxiliary_channels", "auxiliary_concat_input", "auxiliary_loss_weight",
        "auxiliary_num_convs", "out_indices", "pool_scales", "semantic_loss_ignore_index",
        "use_auxiliary_head"}},
      {"dinov2-cls",
       {"apply_layernorm", "out_features", "out_indices", "reshape_hidden_states", "stage_names"}},
      {"bloom-default", {"slow_but_exact"}},
      {"codegen-default", {"n_ctx"}},
      {"deepseek-v2-default", {"aux_loss_alpha", "norm_topk_prob", "seq_aux"}},
      {"deepseek-v3-default", {"qk_head_dim"}},
      {"exaone4-default", {"sliding_window_pattern"}},  // if layer_types is present
      {"falcon-alibi-serial", {"num_kv_heads", "num_ln_in_parallel_attn"}},
      {"falcon-multi-query", {"num_kv_heads", "num_ln_in_parallel_attn"}},
      {"gpt-bigcode-multi-query",
       {"attention_softmax_in_fp32", "num_key_value_heads", "scale_attention_softmax_in_fp32"}},
      {"gpt-oss-default", {"router_aux_loss_coef"}},  // without output_router_logits
      {"longt5-local", {"global_block_size"}},        // of transient-global attention
      {"llama4-text-default",
       {"interleave_moe_layer_step", "output_router_logits", "router_aux_loss_coef"}},
      {"mpt-default",
       {"embedding_fraction", "expansion_ratio", "init_device", "learned_pos_emb", "no_bias",
        "norm_type", "verbose"}},
      {"phi3-default", {"original_max_position_embeddings"}},  // without scaled positions
      {"smollm3-default", {"no_rope_layer_interval"}},
      {"switch-default",
       {"add_router_probs", "num_sparse_decoder_layers",  // if decoder_sparse_step is present
        "num_sparse_encoder_layers", "router_ignore_padding_tokens"}},
      {"t5gemma-default", {"classifier_dropout_rate"}},
      {"whisper-default",
       {"apply_spec_augment", "classifier_proj_size", "mask_feature_length",
        "mask_feature_min_masks", "mask_feature_prob", "mask_time_length", "mask_time_min_masks",
        "mask_time_prob", "median_filter_width", "scale_embedding", "use_weighted_layer_sum"}}};
  for (const std::string& folder : kFolders) {
    const json config = config_of(folder);
    const Built before = build(config);
    const auto found = without_effect_in.find(folder);
    for (const auto& [key, value] : config.items()) {
      if (found != without_effect_in.end() && found->second.contains(key)) continue;
      json other = config;
      other[key] = changed(value);
      bool has_effect = false;
      try {
        has_effect = !(build(other) == before);
      } catch (const Error&) {
        has_effect = true;
      }
      const bool known = without_effect.contains(key) || hf::is_harmless_model_key(key) ||
                         hf::is_bookkeeping_key(key);
      BOOST_TEST((has_effect || known), folder << ": " << key << " is read but has no effect");
    }
  }
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_rejected_unless_they_turn_a_feature_off) {
  for (const std::string& folder : kFolders) {
    BOOST_TEST_CONTEXT(folder) {
      const json config = config_of(folder);
      const Built before = build(config);
      for (const json& value : {json(), json(false), json::array(), json::object()}) {
        json other = config;
        other["attention_flavour"] = value;
        BOOST_TEST((build(other) == before), value.dump());
      }
      for (const json& value : {json(true), json(0), json(1.5), json("x"), json::array({1})}) {
        json other = config;
        other["attention_flavour"] = value;
        rejects(other, "config.json: unknown key attention_flavour = ");
        rejects(other, "(--ignore-config-key attention_flavour)");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(keys_that_change_no_result_are_accepted_for_every_model_type) {
  const json harmless = {{"_attn_implementation_autoset", true},
                         {"_commit_hash", "abc"},
                         {"_name_or_path", "x/y"},
                         {"auto_map", {{"AutoModel", "modeling.X"}}},
                         {"classifier_dropout", 0.1},
                         {"dtype", "bfloat16"},
                         {"is_llama_config", true},
                         {"layer_types", {"full_attention", "full_attention"}},
                         {"max_sequence_length", 2048},
                         {"neftune_noise_alpha", 5},
                         {"pooler_fc_size", 768},
                         {"problem_type", "regression"},
                         {"rope_interleaved", false},
                         {"sbert_ce_default_activation_function", "torch.nn.Identity"},
                         {"sentence_transformers", {{"version", "4.0.1"}}},
                         {"torch_dtype", "float16"},
                         {"trainer", nullptr},
                         {"transformers.js_config", {{"dtype", "q8"}}},
                         {"transformers_version", "5.0.0"},
                         {"unsloth_fixed", true},
                         {"use_sliding_window", false}};
  for (const std::string& folder : kFolders) {
    BOOST_TEST_CONTEXT(folder) {
      const json config = config_of(folder);
      const Built before = build(config);
      for (const auto& [key, value] : harmless.items()) {
        // Some decoders have windows in some layers.
        if (key == "layer_types" &&
            (config.contains(key) || config.contains("global_attn_every_n_layers")))
          continue;
        // Older files of these types have another meaning.
        if (key == "transformers_version" &&
            (folder == "mistral-sliding-window" || folder == "falcon-alibi-serial"))
          continue;
        json other = config;
        other[key] = value;
        BOOST_TEST((build(other) == before), key);
      }
    }
  }
  json windows = config_of("llama-gqa");
  windows["layer_types"] = {"full_attention", "sliding_attention"};
  rejects(windows, "unknown key layer_types");
  json vit = config_of("vit-mim-default");
  vit.update({{"pooler_act", "relu"}, {"pooler_output_size", 5}, {"tie_word_embeddings", true}});
  BOOST_TEST((build(vit) == build(config_of("vit-mim-default"))));
  BOOST_TEST(build(vit, "ViTModel").outputs.at("pooler_output") == "f32[batch, 5]");
  for (const char* folder : {"marian-default", "mbart-default"}) {
    json config = config_of(folder);
    config["extra_pos_embeddings"] = 7;
    BOOST_TEST((build(config) == build(config_of(folder))));
  }
}

BOOST_AUTO_TEST_CASE(a_legacy_head_of_deberta_has_other_names_and_the_same_function) {
  for (const char* folder : {"deberta-mlm-c2p-only", "debertav2-mlm-conv"}) {
    json config = config_of(folder);
    for (const bool legacy : {true, false}) {
      config["legacy"] = legacy;
      Graph graph;
      const hf::Model model =
          hf::build_model(graph, config.dump(), hf::minimal_inputs(config.dump()));
      BOOST_TEST(model.names.theirs("masked_lm.dense.weight") ==
                 (legacy ? "cls.predictions.transform.dense.weight"
                         : "lm_predictions.lm_head.dense.weight"));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_scale_of_t5_outputs_is_a_setting_of_its_own) {
  const auto scaled = [](const json& keys) {
    json config = config_of("t5-v1.1-default");
    config.update(keys);
    return std::get<EncoderDecoderConfig>(build(config).family).scale_tied_head;
  };
  BOOST_TEST(scaled({{"tie_word_embeddings", true}}));
  BOOST_TEST(!scaled({{"tie_word_embeddings", false}}));
  BOOST_TEST(!scaled({{"tie_word_embeddings", true}, {"scale_decoder_outputs", false}}));
  BOOST_TEST(scaled({{"tie_word_embeddings", true}, {"scale_decoder_outputs", true}}));
  BOOST_CHECK_EXCEPTION(scaled({{"tie_word_embeddings", false}, {"scale_decoder_outputs", true}}),
                        ArgumentError, says("scale_decoder_outputs is true"));
}

BOOST_AUTO_TEST_CASE(two_names_of_one_setting_must_have_equal_values) {
  struct Case {
    const char *folder, *key, *of;
  };
  for (const Case& c : {Case{"gpt2-default", "hidden_size", "n_embd"},
                        {"gpt2-default", "num_hidden_layers", "n_layer"},
                        {"gpt2-default", "num_attention_heads", "n_head"},
                        {"gpt2-default", "max_position_embeddings", "n_positions"},
                        {"gpt2-default", "n_ctx", "n_positions"},
                        {"openai-gpt-default", "hidden_size", "n_embd"},
                        {"openai-gpt-default", "n_ctx", "n_positions"},
                        {"distilbert-seqcls-regression", "hidden_size", "dim"},
                        {"distilbert-seqcls-regression", "num_hidden_layers", "n_layers"},
                        {"distilbert-seqcls-regression", "num_attention_heads", "n_heads"},
                        {"t5-v1.1-default", "hidden_size", "d_model"},
                        {"t5-v1.1-default", "num_hidden_layers", "num_layers"},
                        {"t5-v1.1-default", "num_attention_heads", "num_heads"},
                        {"t5-v1.1-default", "head_dim", "d_kv"},
                        {"mbart-default", "hidden_size", "d_model"},
                        {"marian-default", "num_attention_heads", "encoder_attention_heads"},
                        {"whisper-default", "hidden_size", "d_model"},
                        {"gpt-neox-default", "rope_theta", "rotary_emb_base"},
                        {"gpt-neox-default", "partial_rotary_factor", "rotary_pct"}}) {
    BOOST_TEST_CONTEXT(c.folder << " " << c.key) {
      json config = config_of(c.folder);
      const Built before = build(config);
      const json value = config.at(c.of);
      config[c.key] = value;
      BOOST_TEST((build(config) == before));
      config.erase(c.of);
      BOOST_TEST((build(config) == before));  // the other name alone is enough
      config[c.of] = value;
      config[c.key] = value.get<double>() * 2;
      if (value.is_number_integer()) config[c.key] = value.get<std::int64_t>() * 2;
      rejects(config, std::string("config.json: ") + c.key + " is ");
      rejects(config, std::string("but ") + c.of + ", which is the same setting, is ");
    }
  }
}

BOOST_AUTO_TEST_CASE(rotary_settings_in_several_places_must_be_equal) {
  const auto read = [](const char* type, const json& keys) {
    json config = {{"model_type", type}};
    config.update(keys);
    return hf::gpt_config(config.dump());
  };
  const json linear = {{"type", "linear"}, {"rope_type", "linear"}, {"factor", 2.0}};
  const json dynamic = {{"rope_type", "dynamic"}, {"factor", 2}};
  const json theta = {{"rope_type", "default"}, {"rope_theta", 5000.0}};
  for (const char* type : {"llama", "mistral", "qwen3", "gpt_neox"}) {
    BOOST_TEST_CONTEXT(type) {
      BOOST_TEST(read(type, {{"rope_scaling", linear}}).rotary_factor == 2);
      BOOST_TEST((read(type, {{"rope_scaling", linear}, {"rope_parameters", linear}}) ==
                  read(type, {{"rope_parameters", linear}})));
      BOOST_TEST(read(type, {{"rope_theta", 5000}, {"rope_parameters", theta}}).rotary_base ==
                 5000);
      const auto contradicts = [&](const json& keys, std::vector<std::string> parts) {
        BOOST_CHECK_EXCEPTION(read(type, keys), ArgumentError,
                              testing::message_contains(std::move(parts)));
      };
      contradicts({{"rope_scaling", {{"type", "linear"}, {"rope_type", "dynamic"}, {"factor", 2}}}},
                  {"rope_scaling.type is \"linear\"", "rope_scaling.rope_type"});
      contradicts({{"rope_parameters", {{"type", "linear"}, {"rope_type", "default"}}}},
                  {"rope_parameters.type is \"linear\""});
      contradicts({{"rope_scaling", linear}, {"rope_parameters", dynamic}},
                  {"rope_scaling.rope_type is \"linear\", but rope_parameters.rope_type"});
      contradicts({{"rope_theta", 10000}, {"rope_parameters", theta}},
                  {"rope_theta is 10000, but rope_parameters.rope_theta is 5000"});
      contradicts({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}, {"beta", 3}}}},
                  {"unknown key rope_scaling.beta = 3", "--ignore-config-key rope_scaling.beta"});
    }
  }
  const json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8},
                       {"low_freq_factor", 1},
                       {"high_freq_factor", 4},
                       {"original_max_position_embeddings", 32}};
  BOOST_CHECK_EXCEPTION(
      read("llama", {{"rope_scaling", llama3}, {"original_max_position_embeddings", 64}}),
      ArgumentError, says("original_max_position_embeddings is 64, but rope_scaling."));
  BOOST_CHECK_EXCEPTION(
      read("gpt_neox",
           {{"rotary_pct", 0.5}, {"rope_parameters", {{"partial_rotary_factor", 0.25}}}}),
      ArgumentError, says("rotary_pct is 0.5, but rope_parameters.partial_rotary_factor is 0.25"));
  BOOST_TEST((read("llama", {{"rope_parameters", {{"partial_rotary_factor", 1.0}}}}) ==
              read("llama", json::object())));
}

BOOST_AUTO_TEST_CASE(class_names_are_read_from_every_unambiguous_form) {
  using Names = std::vector<std::string>;
  const auto names = [](const json& keys) {
    json config = {{"architectures", {"BertForSequenceClassification"}}};
    config.update(keys);
    return hf::class_names(config.dump());
  };
  const auto check = [&](const json& keys, const Names& expected) {
    BOOST_TEST(names(keys) == expected, keys.dump());
  };
  const json abc = {{"0", "a"}, {"1", "b"}, {"2", "c"}};
  check({{"id2label", abc}}, {"a", "b", "c"});
  check({{"id2label", {"a", "b"}}}, {"a", "b"});
  check({{"id2label", {{"0", 5}, {"1", 1.5}}}}, {"5", "1.5"});
  check({{"id2label", {{"0", "a"}, {"1", "a"}}}, {"label2id", {{"a", 1}}}}, {"a", "a"});
  check({{"label2id", {{"x", 1}, {"y", "0"}}}}, {"y", "x"});
  check({{"id2label", abc}, {"label2id", {{"LABEL_0", 0}, {"LABEL_1", 1}}}}, {"a", "b", "c"});
  check({{"id2label", abc}, {"num_labels", 3}, {"_num_labels", 3}}, {"a", "b", "c"});
  check({{"num_labels", 3}}, {});
  check({{"id2label", nullptr}, {"label2id", nullptr}}, {});
  const auto fails = [&](const json& keys, const std::string& message) {
    BOOST_CHECK_EXCEPTION(names(keys), FormatError, says(message));
  };
  fails({{"id2label", {{"1", "a"}, {"2", "b"}}}},
        "id2label has no name for the id 0, but names the id 2: a model with 2 labels");
  fails({{"id2label", {{"0", "a"}, {"1", "b"}, {"3", "d"}}}}, "id2label has no name for the id 2");
  fails({{"id2label", {{"0", "a"}, {"1", nullptr}}}}, "id2label has no name for the id 1");
  fails({{"id2label", {{"0", "a"}, {"00", "b"}}}}, "id2label has two entries for the id 0");
  fails({{"id2label", {{"a", "0"}}}}, "id2label has the key 'a', which is not an id");
  fails({{"id2label", {{"0", {1}}}}}, "which is not a text");
  fails({{"id2label", "a"}}, "id2label");
  fails({{"id2label", abc}, {"num_labels", 4}}, "num_labels is 4, but id2label has 3 entries");
  fails({{"id2label", abc}, {"_num_labels", 2}}, "num_labels is 2, but id2label has 3 entries");
  fails({{"num_labels", 3}, {"_num_labels", 2}, {"id2label", abc}}, "but _num_labels is 2");
  fails({{"id2label", abc}, {"label2id", {{"b", 0}}}},
        "label2id maps 'b' to 0, but id2label names this id 'a'");
  fails({{"label2id", {{"a", 0}, {"b", 2}}}}, "label2id has no name for the id 1");
  fails({{"label2id", {{"a", 0}, {"b", 0}}}}, "label2id has two entries for the id 0");
  fails({{"label2id", {{"a", "x"}}}}, "label2id maps 'a' to \"x\", which is not an id");
}

BOOST_AUTO_TEST_CASE(labels_are_checked_only_if_the_class_has_labels) {
  json config = config_of("bert-qa-default");
  config.update({{"num_labels", 5}, {"id2label", {{"0", "a"}, {"1", "b"}}}});
  rejects(config, "num_labels is 5, but id2label has 2 entries");
  config["architectures"] = {"BertModel"};
  BOOST_TEST(build(config).outputs.contains("last_hidden_state"));
}

BOOST_AUTO_TEST_CASE(generation_settings_are_read_or_rejected_by_name) {
  const std::string model = R"({"model_type": "gpt2"})";
  const json harmless = {{"transformers_version", "5.0"}, {"use_cache", true},
                         {"_from_model_config", true},    {"next_years_key", false},
                         {"another_key", nullptr},        {"bos_token_id", 7}};
  const hf::GenerationConfig read = hf::generation_config(model, harmless.dump());
  BOOST_TEST(read.bos_id == 7);
  BOOST_CHECK_EXCEPTION(
      hf::generation_config(model, R"({"next_years_key": 2})"), ArgumentError,
      says("generation_config.json: unknown key next_years_key = 2, which might change the "
           "generated output; if it does not, ignore it (--ignore-config-key next_years_key)"));
}

BOOST_AUTO_TEST_CASE(the_start_id_of_texts_has_the_default_of_the_model_type) {
  for (const auto& [type, id] : std::map<std::string, std::int64_t>{{"gpt2", 50256},
                                                                    {"openai-gpt", -1},
                                                                    {"gpt_neox", 0},
                                                                    {"llama", 1},
                                                                    {"mistral", 1},
                                                                    {"qwen3", -1},
                                                                    {"gemma2", 2},
                                                                    {"opt", 2},
                                                                    {"falcon", 11},
                                                                    {"cohere", 5},
                                                                    {"smollm3", 128000},
                                                                    {"deepseek_v3", 0},
                                                                    {"gpt_oss", -1},
                                                                    {"t5", -1}}) {
    const std::string config = json{{"model_type", type}}.dump();
    BOOST_TEST(hf::generation_config(config, {}).bos_id == id, type);
    BOOST_TEST(hf::generation_config(config, "{}").bos_id == -1, type);
    BOOST_TEST(
        hf::generation_config(json{{"model_type", type}, {"bos_token_id", 3}}.dump(), {}).bos_id ==
        3);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
