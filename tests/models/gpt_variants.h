// Small decoder configurations that together cover every option of GptConfig.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/models/families/gpt_config.h"

namespace weft {

struct Variant {
  std::string name;
  GptConfig config;
};

/// Returns configurations that cover every option at least once and are small enough to run
/// quickly.
inline std::vector<Variant> variants() {
  GptConfig base;
  base.vocab = 23;
  base.layers = 2;
  base.heads = 4;
  base.width = 24;
  base.context = 16;
  base.initializer_range = 0.4;  // large enough for clearly non-uniform predictions
  GptConfig llama = GptConfig::llama();
  llama.vocab = base.vocab;
  llama.layers = base.layers;
  llama.heads = base.heads;
  llama.width = base.width;
  llama.context = base.context;
  llama.inner = 40;
  llama.initializer_range = base.initializer_range;
  std::vector<Variant> result = {{"gpt2", base}, {"llama", llama}};
  const auto add = [&](const std::string& name, GptConfig config,
                       const std::function<void(GptConfig&)>& change) {
    change(config);
    result.push_back({name, config});
  };
  add("grouped", llama, [](GptConfig& c) { c.kv_heads = 2; });
  add("llama_bias", llama, [](GptConfig& c) { c.attention_bias = c.tied_head = true; });
  add("window", llama, [](GptConfig& c) { c.window = 4; });
  add("neox", base, [](GptConfig& c) {
    c.residual = GptResidual::parallel;
    c.positions = GptPositions::rotary;
    c.rotary_share = 0.7;  // rotates 4 of 6 features per head
    c.projection = QkvProjection::fused_by_head;
    c.transposed = false;
  });
  add("head_dim", llama, [](GptConfig& c) {
    c.heads = 5;  // the width is not a multiple of 5
    c.head_dim = 8;
    c.mlp_bias = true;
  });
  add("linear_scaling", llama, [](GptConfig& c) {
    c.rotary_scaling = RotaryScalingKind::linear;
    c.rotary_factor = 4;
  });
  add("dynamic_scaling", llama, [](GptConfig& c) {
    c.rotary_scaling = RotaryScalingKind::dynamic;
    c.rotary_factor = 2;
    c.rotary_context = c.context;
  });
  add("llama3_scaling", llama, [](GptConfig& c) {
    c.rotary_scaling = RotaryScalingKind::llama3;
    c.rotary_factor = 8;
    c.rotary_context = c.context;
  });
  add("qk_norm", llama, [](GptConfig& c) {
    c.kv_heads = 2;
    c.qk_norm = true;
  });
  add("gpt1", base, [](GptConfig& c) { c.residual = GptResidual::post_norm; });
  add("alibi", base, [](GptConfig& c) { c.positions = GptPositions::linear_bias; });
  add("alibi_window", base, [](GptConfig& c) {
    c.positions = GptPositions::linear_bias;
    c.window = 5;
  });
  add("sinusoidal", base, [](GptConfig& c) { c.positions = GptPositions::sinusoidal; });
  add("no_positions", base, [](GptConfig& c) { c.positions = GptPositions::none; });
  return result;
}

}  // namespace weft
