// The code on docs/decoders.md.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/models/families/gpt.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_CASE(the_decoders_of_the_page_are_valid_and_have_their_mechanisms) {
  GptConfig gemma = GptConfig::llama();
  gemma.activation = Activation::gelu_tanh;
  gemma.residual = GptResidual::sandwich;
  gemma.norm_offset = gemma.tied_head = true;
  gemma.embedding_multiplier = std::sqrt(static_cast<double>(gemma.width));
  gemma.window = 4096;
  gemma.window_layers = "10";  // layers 0, 2, 4, ...
  gemma.attention_soft_cap = 50;
  gemma.logit_soft_cap = 30;

  gemma.check();
  BOOST_TEST((gemma.has_window(0) && !gemma.has_window(1)));

  GptConfig deepseek = GptConfig::llama();
  deepseek.head_dim = 192;  // 128 features without positions and 64 with positions
  deepseek.latent_rotary = 64;
  deepseek.value_dim = 128;
  deepseek.kv_rank = 512;
  deepseek.query_rank = 1536;
  deepseek.experts = 64;
  deepseek.experts_per_token = 6;
  deepseek.expert_inner = deepseek.shared_inner = 1408;
  deepseek.expert_layers = "011111111111";  // a feed-forward block in the first layer
  deepseek.router_scores = RouterScores::sigmoid;
  deepseek.router_correction = true;
  deepseek.correction_speed = 0.001;

  Graph g;
  const Gpt gpt(Scope(g), deepseek, GptHead::none);
  BOOST_TEST(g.has_variable("transformer.h.0.mlp.c_fc.weight"));
  BOOST_TEST(g.has_variable("transformer.h.11.mlp.router.correction"));
  BOOST_TEST(g.find_variable("transformer.h.1.attn.kv_down.weight").value().type().str() ==
             "f32[576, 768]");
}

}  // namespace
}  // namespace weft
