#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/core/error.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/hf/export.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/tasks/next_token/presets.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(gpt_config)
namespace {

using testing::says;

BOOST_AUTO_TEST_CASE(gpt2_has_the_published_number_of_parameters) {
  BOOST_TEST(GptConfig{}.parameter_count() == 124439808);
  GptConfig medium;
  medium.layers = 24;
  medium.heads = 16;
  medium.width = 1024;
  BOOST_TEST(medium.parameter_count() == 354823168);
}

BOOST_AUTO_TEST_CASE(config_round_trips_through_json) {
  GptConfig config;
  config.vocab = 65;
  config.inner = 100;
  config.activation = Activation::silu;
  config.bias = false;
  config.layer_norm_eps = 1e-6;
  config.attention_dropout = 0.1;
  BOOST_TEST((GptConfig::from_json(config.to_json()) == config));
  BOOST_CHECK_EXCEPTION(GptConfig::from_json("{\"family\": \"gpt\"}"), FormatError,
                        says("the model config lacks 'vocab'"));
  BOOST_CHECK_EXCEPTION(GptConfig::from_json("{\"family\": \"bert\"}"), FormatError,
                        says("the model config is of family \"bert\", not \"gpt\""));
  BOOST_CHECK_EXCEPTION(GptConfig::from_json("[1]"), FormatError, says("is not a JSON object"));
  std::string json = config.to_json();
  json.insert(1, "\"colour\": 3, ");
  BOOST_CHECK_EXCEPTION(GptConfig::from_json(json), FormatError,
                        says("the model config has an unknown field 'colour'"));
  json = config.to_json();
  json.replace(json.find("\"vocab\":65"), 10, "\"vocab\":\"x\"");
  BOOST_CHECK_EXCEPTION(GptConfig::from_json(json), FormatError,
                        says("'vocab' must be an integer, not \"x\""));
}

BOOST_AUTO_TEST_CASE(configs_from_the_first_file_version_are_still_read) {
  const GptConfig config = GptConfig::from_json(R"({
    "vocab": 65, "layers": 2, "heads": 2, "width": 8, "context": 16, "inner": 0,
    "activation": "gelu_tanh", "bias": true, "tied_head": true, "layer_norm_eps": 1e-5,
    "scale_attention": true, "scale_attention_by_inverse_layer": false, "embedding_dropout": 0.0,
    "attention_dropout": 0.0, "residual_dropout": 0.0, "initializer_range": 0.02,
    "family": "gpt"})");
  GptConfig expected;
  expected.vocab = 65;
  expected.layers = expected.heads = 2;
  expected.width = 8;
  expected.context = 16;
  BOOST_TEST((config == expected));
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_values) {
  const auto check = [](auto change, const std::string& message) {
    GptConfig config;
    change(config);
    BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, says(message));
  };
  check([](GptConfig& c) { c.heads = 7; }, "width 768 is not a multiple of heads 7");
  check([](GptConfig& c) { c.layers = 0; }, "layers must be at least 1, not 0");
  check([](GptConfig& c) { c.inner = -1; }, "inner must be 0 (4 * width) or more, not -1");
  check([](GptConfig& c) { c.attention_dropout = 1; },
        "attention_dropout must be in [0, 1), not 1");
  check([](GptConfig& c) { c.layer_norm_eps = 0; }, "layer_norm_eps must be positive, not 0");
  BOOST_CHECK_EXCEPTION(parse_choice<Activation>("gelo"), ArgumentError,
                        says("unknown activation 'gelo': expected one of gelu_tanh"));
}

BOOST_AUTO_TEST_CASE(hugging_face_keys_are_applied_or_rejected_by_name) {
  const GptConfig config = hf::gpt_config(R"({
    "model_type": "gpt2", "vocab_size": 101, "n_positions": 24, "n_embd": 32, "n_layer": 2,
    "n_head": 4, "n_inner": null, "activation_function": "relu", "layer_norm_epsilon": 1e-3,
    "attn_pdrop": 0.2, "scale_attn_by_inverse_layer_idx": true, "scale_attn_weights": false,
    "reorder_and_upcast_attn": true, "bos_token_id": 1})");
  GptConfig expected;
  expected.vocab = 101;
  expected.context = 24;
  expected.width = 32;
  expected.layers = 2;
  expected.heads = 4;
  expected.activation = Activation::relu;
  expected.layer_norm_eps = 1e-3;
  expected.embedding_dropout = expected.residual_dropout = 0.1;
  expected.attention_dropout = 0.2;
  expected.scale_attention = false;
  expected.scale_attention_by_inverse_layer = true;
  BOOST_TEST((config == expected));
  BOOST_TEST(hf::gpt_config(R"({"model_type": "mistral"})").key_heads() == 8);
  BOOST_TEST(
      hf::gpt_config(R"({"model_type": "mistral", "num_key_value_heads": null})").key_heads() ==
      32);
  const auto rejects = [](const std::string& json, const std::string& message) {
    BOOST_CHECK_EXCEPTION(hf::gpt_config(json), ArgumentError, says(message));
  };
  rejects(R"({"model_type": "bert"})", "model_type \"bert\" is not a decoder of the GPT family");
  rejects(R"({"model_type": "gpt2", "add_cross_attention": true})", "add_cross_attention is true");
  rejects(R"({"model_type": "gpt2", "is_decoder": true})", "is_decoder is true");
  rejects(R"({"model_type": "gpt2", "pruned_heads": {"0": [1]}})", "pruned models are not");
  rejects(R"({"model_type": "gpt2", "activation_function": "softsign"})",
          "unknown activation 'softsign'");
  rejects(R"({"model_type": "gpt2", "n_inner_layers": 3})", "unknown key n_inner_layers = 3");
  rejects(R"({"model_type": "openai-gpt", "afn": "gelu_new"})", "afn is \"gelu_new\"");
  rejects(R"({"model_type": "llama", "rope_scaling": {"type": "ntk", "factor": 2.0}})",
          "rope_scaling has the type \"ntk\"; supported are default, linear, dynamic, llama3, yarn "
          "and longrope");
  rejects(R"({"model_type": "llama", "rope_scaling": {"type": "linear"}})",
          "rope_scaling of type \"linear\" requires factor");
  rejects(R"({"model_type": "llama", "rope_parameters": {"rope_type": "default", "beta_fast": 3}})",
          "config.json: unknown key rope_parameters.beta_fast = 3");
  rejects(R"({"model_type": "llama", "rope_parameters": {"rope_theta": 10},
              "rope_scaling": {"rope_theta": 20}})",
          "rope_scaling.rope_theta is 20, but rope_parameters.rope_theta is 10");
  rejects(R"({"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 0.5}})",
          "rotary_factor must be at least 1 and finite, not 0.5");
  rejects(R"({"model_type": "llama", "partial_rotary_factor": 0.5})",
          "partial_rotary_factor is 0.5: rotary positions must cover all features of a head");
  rejects(R"({"model_type": "mistral", "mlp_bias": true})",
          "mlp_bias is true: this model type has no biases");
  const std::string layers =
      "layer_types contains layers with a window, but sliding_window specifies no window: set "
      "sliding_window to a number of tokens (for Qwen, with use_sliding_window)";
  rejects(
      R"({"model_type": "qwen3", "num_hidden_layers": 2,
          "layer_types": ["full_attention", "sliding_attention"]})",
      layers);
  rejects(R"({"model_type": "qwen3", "layer_types": ["full_attention", "sliding_attention"]})",
          "layer_types has 2 entries, but the model has 32 layers");
  rejects(R"({"model_type": "qwen3", "layer_types": ["linear_attention"]})",
          "layer_types contains \"linear_attention\"; supported are \"full_attention\" and "
          "\"sliding_attention\" for model_type \"qwen3\"");
  // These keys change nothing.
  for (const char* keys :
       {R"("sliding_window": 4096)", R"("use_sliding_window": true, "max_window_layers": 32)",
        R"("use_sliding_window": true, "sliding_window": null)",
        R"("use_sliding_window": true, "layer_types": ["full_attention"])"}) {
    BOOST_TEST((hf::gpt_config(fmt::format(R"({{"model_type": "qwen3", {}}})", keys)) ==
                hf::gpt_config(R"({"model_type": "qwen3"})")),
               keys);
  }
}

BOOST_AUTO_TEST_CASE(every_preset_is_valid) {
  for (const Preset<GptConfig>& preset : gpt_presets()) {
    preset.model.check();
    preset.training.check();
    BOOST_TEST(&find_preset(gpt_presets(), preset.name) == &preset);
  }
  for (const Preset<GptConfig>& preset : instruction_presets()) {
    preset.model.check();
    preset.training.check();
    BOOST_TEST(&find_preset(instruction_presets(), preset.name) == &preset);
  }
  BOOST_TEST(instruction_presets().front().name == "instruct-cpu");
  const Preset<GptConfig>& cpu = find_preset(gpt_presets(), "nanogpt-cpu");
  BOOST_TEST(cpu.model.layers == 4);
  BOOST_TEST(cpu.training.steps == 2000);
  BOOST_CHECK_EXCEPTION(
      find_preset(gpt_presets(), "gpt9"), ArgumentError,
      says("unknown preset 'gpt9': expected one of char-small, nanogpt-cpu, llama-cpu, "
           "nanogpt-baby, gpt2"));
}

BOOST_AUTO_TEST_CASE(decoder_configs_round_trip_through_hugging_face) {
  const auto written = [](const GptConfig& config) {
    return hf::config_json(config, {"LMHeadModel", "ForCausalLM"});
  };
  const auto round_trip = [&](GptConfig config) {
    config.inner = config.inner_width();
    config.kv_heads = config.key_heads();
    GptConfig back = hf::gpt_config(written(config));
    back.inner = back.inner_width();
    back.kv_heads = back.key_heads();
    BOOST_TEST(back.to_json() == config.to_json());
  };
  GptConfig gpt2;
  gpt2.scale_attention_by_inverse_layer = true;
  gpt2.attention_dropout = 0.2;
  round_trip(gpt2);
  GptConfig gpt1;
  gpt1.residual = GptResidual::post_norm;
  round_trip(gpt1);
  GptConfig llama = GptConfig::llama();
  llama.kv_heads = 4;
  round_trip(llama);
  llama.head_dim = 96;
  llama.attention_bias = llama.mlp_bias = true;
  llama.rotary_scaling = RotaryScalingKind::llama3;
  llama.rotary_factor = 8;
  llama.rotary_context = 512;
  round_trip(llama);
  llama.attention_bias = llama.mlp_bias = false;
  llama.window = 6;
  round_trip(llama);
  llama.window = 0;
  llama.qk_norm = true;
  round_trip(llama);
  // Qwen3's head_dim does not depend on the width if the key is absent, so it is written.
  llama.head_dim = 0;
  BOOST_TEST(hf::gpt_config(written(llama)).head_dim == llama.head_size());
  GptConfig neox;
  neox.positions = GptPositions::rotary;
  neox.rotary_share = 0.25;
  neox.projection = QkvProjection::fused_by_head;
  neox.transposed = neox.tied_head = false;
  neox.residual = GptResidual::parallel;
  round_trip(neox);
  neox.rotary_scaling = RotaryScalingKind::dynamic;
  neox.rotary_factor = 2;
  neox.rotary_context = neox.context;
  round_trip(neox);
  gpt2.bias = false;
  BOOST_CHECK_EXCEPTION(written(gpt2), ArgumentError,
                        says("no Hugging Face model type supports bias = false"));
  llama.rotary_scaling = RotaryScalingKind::none;
  llama.positions = GptPositions::linear_bias;
  BOOST_CHECK_EXCEPTION(written(llama), ArgumentError,
                        says("supports positions = \"linear_bias\""));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
