// Validity and canonical forms of the settings of decoders.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <string>

#include "weft/core/error.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(decoder_config)
namespace {

using testing::says_exactly;

GptConfig variant(const std::string& name) {
  for (const Variant& v : variants()) {
    if (v.name == name) return v.config;
  }
  throw ArgumentError("no variant " + name);
}

void rejects(const std::string& name, const std::function<void(GptConfig&)>& change,
             const std::string& message) {
  GptConfig config = variant(name);
  config.check();
  change(config);
  BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, says_exactly(message));
}

BOOST_AUTO_TEST_CASE(patterns_select_layers_and_have_one_shortest_form) {
  BOOST_TEST(layer_selected("", 5));
  BOOST_TEST(layer_selected("110", 4));
  BOOST_TEST(!layer_selected("110", 5));
  for (const auto& [pattern, layers, shortest] : {std::tuple{"", 3, ""},
                                                  {"1", 3, ""},
                                                  {"11", 2, ""},
                                                  {"1010", 5, "10"},
                                                  {"10", 1, ""},
                                                  {"000", 3, "0"},
                                                  {"110110", 6, "110"},
                                                  {"1101", 4, "110"},
                                                  {"0111", 4, "0111"}}) {
    BOOST_TEST(shortest_pattern(pattern, layers) == shortest);
  }
  GptConfig config = variant("gemma2");
  BOOST_TEST((config.has_window(0) && !config.has_window(1) && config.has_rotary(1)));
  config.window_layers.clear();
  BOOST_TEST(config.has_window(1));
  BOOST_TEST(!variant("llama4").has_experts(0));
  BOOST_TEST(!variant("llama").has_experts(0));
}

BOOST_AUTO_TEST_CASE(invalid_patterns_are_rejected) {
  rejects(
      "gemma2", [](GptConfig& c) { c.window_layers = "12"; },
      "window_layers must be a pattern of 0 and 1, such as 110, not '12'");
  rejects(
      "gemma2", [](GptConfig& c) { c.window_layers = "110"; },
      "window_layers is a pattern of 3 layers, but the model has 2");
  rejects(
      "llama", [](GptConfig& c) { c.rotary_layers = "x"; },
      "rotary_layers must be a pattern of 0 and 1, such as 110, not 'x'");
  rejects(
      "llama4", [](GptConfig& c) { c.expert_layers = "x"; },
      "expert_layers must be a pattern of 0 and 1, such as 110, not 'x'");
  rejects(
      "llama4", [](GptConfig& c) { c.query_growth_layers = "x"; },
      "query_growth_layers must be a pattern of 0 and 1, such as 110, not 'x'");
}

BOOST_AUTO_TEST_CASE(settings_without_the_setting_that_they_refine_are_rejected) {
  const auto needs = [](const std::string& field, const std::string& needed,
                        const std::function<void(GptConfig&)>& change,
                        const std::string& name = "llama") {
    rejects(name, change, field + " needs " + needed);
  };
  needs("window_layers", "a window", [](GptConfig& c) { c.window_layers = "10"; });
  needs("window_chunks", "a window", [](GptConfig& c) { c.window_chunks = true; });
  needs("rotary_window_base", "a window", [](GptConfig& c) { c.rotary_window_base = 5; });
  needs(
      "rotary_window_base", "rotary positions", [](GptConfig& c) { c.rotary_window_base = 5; },
      "alibi_window");
  needs(
      "rotary_adjacent", "rotary positions", [](GptConfig& c) { c.rotary_adjacent = true; },
      "gpt2");
  needs(
      "rotary_layers", "rotary positions", [](GptConfig& c) { c.rotary_layers = "10"; }, "gpt2");
  needs(
      "qk_norm_form unweighted", "rotary positions",
      [](GptConfig& c) {
        c.qk_norm = true;
        c.qk_norm_form = GptQkNorm::unweighted;
      },
      "gpt2");
  needs("position_offset", "learned positions", [](GptConfig& c) { c.position_offset = 2; });
  needs("masked_positions", "learned positions", [](GptConfig& c) { c.masked_positions = true; });
  needs("norm_bias", "layer norms: RMSNorm has no biases",
        [](GptConfig& c) { c.norm_bias = true; });
  needs(
      "norm_bias", "norm_weights",
      [](GptConfig& c) {
        c.norm_weights = false;
        c.norm_bias = true;
      },
      "gpt2");
  needs(
      "norm_offset", "norm_weights", [](GptConfig& c) { c.norm_offset = true; }, "olmo");
  needs("qk_norm_form", "qk_norm", [](GptConfig& c) { c.qk_norm_form = GptQkNorm::all_heads; });
  needs("query_growth_layers", "query_growth", [](GptConfig& c) { c.query_growth_layers = "10"; });
  needs(
      "fused_gate", "gated", [](GptConfig& c) { c.fused_gate = true; }, "gpt2");
  needs(
      "expert_limit", "gated", [](GptConfig& c) { c.gated = false; }, "gpt_oss");
  needs("rotary_attention_factor", "rotary_scaling yarn or longrope",
        [](GptConfig& c) { c.rotary_attention_factor = 1; });
  needs("rotary_mscale", "rotary_scaling yarn", [](GptConfig& c) { c.rotary_mscale = 1; });
  needs("rotary_mscale_all", "rotary_scaling yarn", [](GptConfig& c) { c.rotary_mscale_all = 1; });
  needs("rotary_short_factors", "rotary_scaling longrope",
        [](GptConfig& c) { c.rotary_short_factors = {1}; });
  needs("rotary_long_factors", "rotary_scaling longrope",
        [](GptConfig& c) { c.rotary_long_factors = {1}; });
  const std::string latent = "a kv_rank (latent attention)";
  needs("query_rank", latent, [](GptConfig& c) { c.query_rank = 1; });
  needs("latent_rotary", latent, [](GptConfig& c) { c.latent_rotary = 2; });
  needs("value_dim", latent, [](GptConfig& c) { c.value_dim = 1; });
  needs("latent_norm_eps", latent, [](GptConfig& c) { c.latent_norm_eps = 1; });
  needs("expert_layers", "experts", [](GptConfig& c) { c.expert_layers = "10"; });
  needs("expert_inner", "experts", [](GptConfig& c) { c.expert_inner = 1; });
  needs("shared_inner", "experts", [](GptConfig& c) { c.shared_inner = 1; });
  needs("router_scores", "experts", [](GptConfig& c) { c.router_scores = RouterScores::sigmoid; });
  needs("expert_input_weights", "experts", [](GptConfig& c) { c.expert_input_weights = true; });
  needs("router_groups", "experts", [](GptConfig& c) { c.router_groups = 2; });
  needs("router_correction", "experts", [](GptConfig& c) { c.router_correction = true; });
  needs("router_bias", "experts", [](GptConfig& c) { c.router_bias = true; });
  needs("expert_bias", "experts", [](GptConfig& c) { c.expert_bias = true; });
  needs("expert_limit", "experts", [](GptConfig& c) { c.expert_limit = 1; });
  needs("balancing_weight", "experts", [](GptConfig& c) { c.balancing_weight = 1; });
  needs("router_z_weight", "experts", [](GptConfig& c) { c.router_z_weight = 1; });
  needs(
      "shared_gate", "shared_inner", [](GptConfig& c) { c.shared_gate = true; }, "gpt_oss");
  needs(
      "correction_speed", "router_correction", [](GptConfig& c) { c.correction_speed = 1; },
      "gpt_oss");
}

BOOST_AUTO_TEST_CASE(contradictory_settings_are_rejected) {
  const std::string with = "latent attention cannot be combined with ";
  rejects(
      "deepseek", [](GptConfig& c) { c.qk_norm = true; }, with + "qk_norm");
  rejects(
      "deepseek", [](GptConfig& c) { c.clip_qkv = 1; }, with + "clip_qkv");
  rejects(
      "deepseek", [](GptConfig& c) { c.qkv_bias = true; }, with + "qkv_bias");
  rejects(
      "deepseek", [](GptConfig& c) { c.sinks = true; }, with + "sinks");
  rejects(
      "deepseek", [](GptConfig& c) { c.rotary_share = 0.5; }, with + "rotary_share");
  rejects(
      "deepseek", [](GptConfig& c) { c.latent_rotary = 10; },
      "latent_rotary 10 must be smaller than the head size 10, which includes it");
  rejects(
      "deepseek", [](GptConfig& c) { c.latent_rotary = 3; }, "latent_rotary must be even, not 3");
  rejects(
      "deepseek", [](GptConfig& c) { c.latent_rotary = 0; },
      "latent attention needs a latent_rotary above 0 if and only if positions are rotary");
  rejects(
      "deepseek", [](GptConfig& c) { c.kv_heads = 2; },
      "latent attention needs kv_heads equal to heads 4, not 2");
  rejects(
      "deepseek", [](GptConfig& c) { c.projection = QkvProjection::fused; },
      "latent attention needs projection separate, not fused");
  rejects(
      "deepseek", [](GptConfig& c) { c.router_groups = 3; },
      "router_groups 3 must divide experts 8");
  rejects(
      "deepseek", [](GptConfig& c) { c.router_groups_per_token = 5; },
      "router_groups_per_token must be in [1, router_groups = 4], not 5");
  rejects(
      "deepseek", [](GptConfig& c) { c.experts_per_token = 5; },
      "experts_per_token must be in [1, 4], the number of experts in the groups of a token, "
      "not 5");
  rejects(
      "gpt_oss", [](GptConfig& c) { c.experts_per_token = 0; },
      "experts_per_token must be in [1, 4], the number of experts, not 0");
  rejects(
      "deepseek", [](GptConfig& c) { c.router_groups = c.router_groups_per_token = 8; },
      "router_group_score best_two needs groups of at least 2 experts, not 1");
  rejects(
      "gpt_oss", [](GptConfig& c) { c.rotary_beta_slow = 3; },
      "rotary_beta_fast 3 must be larger than rotary_beta_slow 3, which must be positive");
  rejects(
      "gpt_oss", [](GptConfig& c) { c.rotary_base = 1; },
      "rotary_scaling yarn needs a rotary_base above 1, not 1");
  rejects(
      "gpt_oss", [](GptConfig& c) { c.rotary_context = 0; },
      "rotary_scaling yarn needs a rotary_context of at least 1, not 0");
  rejects(
      "phi3", [](GptConfig& c) { c.rotary_short_factors.pop_back(); },
      "rotary_short_factors has 2 factors, but 3 pairs of features are rotated");
  rejects(
      "phi3", [](GptConfig& c) { c.rotary_long_factors[1] = 0; },
      "rotary_long_factors must be positive, not 0");
  rejects(
      "phi3", [](GptConfig& c) { c.rotary_context = 1; },
      "rotary_scaling longrope needs a rotary_context above 1 or a rotary_attention_factor");
}

BOOST_AUTO_TEST_CASE(numbers_outside_their_range_are_rejected) {
  const double infinite = std::numeric_limits<double>::infinity();
  rejects(
      "llama", [=](GptConfig& c) { c.attention_soft_cap = infinite; },
      "attention_soft_cap must be at least 0 and finite, not inf");
  rejects(
      "llama", [](GptConfig& c) { c.attention_scale = -1; },
      "attention_scale must be at least 0 and finite, not -1");
  rejects(
      "llama", [](GptConfig& c) { c.clip_qkv = -1; },
      "clip_qkv must be at least 0 and finite, not -1");
  rejects(
      "llama", [](GptConfig& c) { c.logit_soft_cap = -1; },
      "logit_soft_cap must be at least 0 and finite, not -1");
  rejects(
      "llama", [](GptConfig& c) { c.query_growth = -1; },
      "query_growth must be at least 0 and finite, not -1");
  rejects(
      "llama", [](GptConfig& c) { c.query_growth_context = 0; },
      "query_growth_context must be at least 1, not 0");
  rejects(
      "llama", [](GptConfig& c) { c.logit_multiplier = 0; },
      "logit_multiplier must be positive, not 0");
  rejects(
      "llama", [](GptConfig& c) { c.embedding_multiplier = -1; },
      "embedding_multiplier must be positive, not -1");
  rejects(
      "llama", [](GptConfig& c) { c.residual_multiplier = 0; },
      "residual_multiplier must be positive, not 0");
  rejects(
      "llama", [](GptConfig& c) { c.linear_bias_max = 0; },
      "linear_bias_max must be positive, not 0");
  rejects(
      "llama", [](GptConfig& c) { c.linear_bias_scale = 0; },
      "linear_bias_scale must be positive, not 0");
  rejects(
      "llama", [](GptConfig& c) { c.expert_scale = 0; }, "expert_scale must be positive, not 0");
  rejects(
      "llama", [=](GptConfig& c) { c.rotary_base = infinite; },
      "rotary_base must be positive, not inf");
  rejects(
      "linear_scaling", [=](GptConfig& c) { c.rotary_factor = infinite; },
      "rotary_factor must be at least 1 and finite, not inf");
  rejects(
      "window", [](GptConfig& c) { c.window = std::numeric_limits<std::int64_t>::max(); },
      "window must be at most 16777216, not 9223372036854775807");
  rejects(
      "llama", [](GptConfig& c) { c.experts = -1; }, "experts must be at least 0, not -1");
  rejects(
      "llama", [](GptConfig& c) { c.experts = 1 << 20; },
      "experts must be at most 65536, not 1048576");
  rejects(
      "llama", [](GptConfig& c) { c.embedding_width = -1; },
      "embedding_width must be at least 0, not -1");
  rejects(
      "llama", [](GptConfig& c) { c.kv_rank = 1 << 30; },
      "kv_rank must be at most 1048576, not 1073741824");
}

BOOST_AUTO_TEST_CASE(lists_of_numbers_are_read_from_json_and_options) {
  const GptConfig config = variant("phi3");
  const std::string json = config.to_json();
  BOOST_TEST(json.find("\"rotary_short_factors\":[1.0,1.2,1.5]") != std::string::npos);
  BOOST_TEST((GptConfig::from_json(json) == config));
  GptConfig changed = config;
  changed.rotary_long_factors = {2, 2.5, 1e3};
  BOOST_TEST((GptConfig::fields().with(config, {{"rotary_long_factors", "2,2.5,1e3"}}) == changed));
  changed = variant("llama");
  BOOST_TEST((GptConfig::fields().with(changed, {{"rotary_long_factors", ""}}) == changed));
  for (const std::string text : {"1,", ",1", "1,x", "1 2", "1,inf", " "}) {
    BOOST_CHECK_EXCEPTION(GptConfig::fields().with(config, {{"rotary_long_factors", text}}),
                          ArgumentError, testing::says("rotary_long_factors must be a finite"));
  }
  for (const std::string list : {"3", "[1.0,\"x\",2.0]", "null", "{}"}) {
    std::string wrong = json;
    wrong.replace(wrong.find("[1.0,1.2,1.5]"), 13, list);
    BOOST_CHECK_EXCEPTION(GptConfig::from_json(wrong), FormatError,
                          testing::says("'rotary_short_factors' must be a list of numbers, not "));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
