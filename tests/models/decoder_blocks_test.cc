// The arrangement of decoder blocks, embeddings and heads, against the documented formulas, and the
// latent attention, feed-forward and norm layers that decoders select.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(decoder_blocks)
namespace {

using testing::says;

GptConfig one_block() {
  GptConfig c;
  c.vocab = 13;
  c.layers = 1;
  c.heads = 2;
  c.width = 8;
  c.context = 9;
  c.inner = 12;
  c.initializer_range = 0.4;
  return c;
}

/// Applies the parameters of a model of one_block() with plain functions.
struct Plain {
  Graph& g;
  std::string block = "transformer.h.0.";

  Value get(const std::string& name) const { return g.find_variable(name).value(); }
  Value norm(const std::string& name, Value x) const {
    return layer_norm(x, get(name + ".weight"), get(name + ".bias"));
  }
  Value linear(const std::string& name, Value x) const {
    return matmul(x, get(block + name + ".weight")) + get(block + name + ".bias");
  }
  Value attend(Value x) const {
    const std::vector<Value> qkv = split_equal(linear("attn.c_attn", x), 3, -1);
    return linear("attn.c_proj",
                  join_heads(attention(split_heads(qkv[0], 2), split_heads(qkv[1], 2),
                                       split_heads(qkv[2], 2), {.causal = true})));
  }
  Value feed(Value x) const {
    return linear("mlp.c_proj", gelu(linear("mlp.c_fc", x), GeluForm::tanh));
  }
};

/// Checks that a program computes the same in both ways, with random parameters.
void check_equal(Graph& g, Value a, Value b) {
  Session session(g, {.seed = 5});
  session.initialise();
  std::uint64_t seed = 1;
  for (const Variable& v : g.parameters()) {
    session.set_value(v.name(), normal_tensor(v.shape().constant(), seed++, DType::f32, 0.2, 0.5));
  }
  const Results results =
      session.run(Program("both").output("a", a).output("b", b),
                  {{"ids", Tensor::of<std::int32_t>({2, 5}, {1, 5, 3, 12, 0, 7, 7, 2, 4, 11})}});
  double most = 0, difference = 0;
  for (std::int64_t i = 0; i < results["a"].numel(); ++i) {
    most = std::max(most, std::abs(results["a"].at(i)));
    difference = std::max(difference, std::abs(results["a"].at(i) - results["b"].at(i)));
  }
  BOOST_TEST(most > 0.01);
  BOOST_TEST(difference < 2e-6 * most);
}

BOOST_AUTO_TEST_CASE(blocks_arrange_norms_and_residual_connections_as_documented) {
  using Form = std::function<Value(const Plain&, Value)>;
  const auto n = [](const Plain& p, const char* name, Value x) {
    return p.norm(p.block + name, x);
  };
  constexpr double kFactor = 0.7;  // residual_multiplier
  const std::vector<std::pair<GptResidual, Form>> forms = {
      {GptResidual::pre_norm,
       [&](const Plain& p, Value h) {
         h = h + p.attend(n(p, "ln_1", h)) * kFactor;
         return p.norm("transformer.ln_f", h + p.feed(n(p, "ln_2", h)) * kFactor);
       }},
      {GptResidual::post_norm,
       [&](const Plain& p, Value h) {
         h = n(p, "ln_1", h + p.attend(h) * kFactor);
         return n(p, "ln_2", h + p.feed(h) * kFactor);
       }},
      {GptResidual::parallel,
       [&](const Plain& p, Value h) {
         return p.norm("transformer.ln_f",
                       h + p.attend(n(p, "ln_1", h)) * kFactor + p.feed(n(p, "ln_2", h)) * kFactor);
       }},
      {GptResidual::parallel_one_norm,
       [&](const Plain& p, Value h) {
         const Value x = n(p, "ln_1", h);
         return p.norm("transformer.ln_f", h + p.attend(x) * kFactor + p.feed(x) * kFactor);
       }},
      {GptResidual::sandwich,
       [&](const Plain& p, Value h) {
         h = h + n(p, "ln_1_post", p.attend(n(p, "ln_1", h))) * kFactor;
         h = h + n(p, "ln_2_post", p.feed(n(p, "ln_2", h))) * kFactor;
         return p.norm("transformer.ln_f", h);
       }},
      {GptResidual::inner_post_norm,
       [&](const Plain& p, Value h) {
         h = h + n(p, "ln_1", p.attend(h)) * kFactor;
         return p.norm("transformer.ln_f", h + n(p, "ln_2", p.feed(h)) * kFactor);
       }},
  };
  for (const auto& [residual, form] : forms) {
    BOOST_TEST_CONTEXT(std::string(choice_name(residual))) {
      Graph g;
      GptConfig config = one_block();
      config.residual = residual;
      config.residual_multiplier = kFactor;
      const Gpt gpt(Scope(g), config, GptHead::none);
      const Value ids = g.input("ids", DType::i32, {2, 5});
      const Plain plain{g};
      const Value h =
          embedding(ids, plain.get("transformer.wte.weight")) +
          slice(plain.get("transformer.wpe.weight"), 0, {.begin = Dim(0), .end = Dim(5)});
      check_equal(g, gpt({.ids = ids}).last_hidden_state, form(plain, h));
    }
  }
}

BOOST_AUTO_TEST_CASE(embeddings_and_heads_follow_the_documented_formulas) {
  Graph g;
  GptConfig config = one_block();
  config.embedding_multiplier = 3;
  config.embedding_norm = config.head_bias = true;
  config.embedding_width = 6;
  config.position_offset = 2;
  config.final_norm = false;
  config.logit_multiplier = 0.5;
  config.logit_soft_cap = 0.8;
  const Gpt gpt(Scope(g), config);
  BOOST_TEST(g.find_variable("transformer.wpe.weight").value().type().str() == "f32[11, 8]");
  BOOST_TEST(!g.has_variable("transformer.ln_f.weight"));
  const Value ids = g.input("ids", DType::i32, {2, 5});
  const Plain p{g};
  const Value table = p.get("transformer.wte.weight");
  Value h = matmul(embedding(ids, table) * 3, p.get("transformer.project_in.weight"),
                   {.transpose_b = true});
  h = h + slice(p.get("transformer.wpe.weight"), 0, {.begin = Dim(2), .end = Dim(7)});
  h = p.norm("transformer.wte_norm", h);
  h = h + p.attend(p.norm(p.block + "ln_1", h));
  h = h + p.feed(p.norm(p.block + "ln_2", h));
  h = matmul(h, p.get("transformer.project_out.weight"), {.transpose_b = true});
  const Value logits = (matmul(h, table, {.transpose_b = true}) + p.get("lm_head.bias")) * 0.5;
  const GptOutputs outputs = gpt({.ids = ids});
  BOOST_TEST(outputs.last_hidden_state.type().str() == "f32[2, 5, 6]");
  check_equal(g, outputs.logits, tanh(logits / 0.8) * 0.8);
}

BOOST_AUTO_TEST_CASE(masked_positions_count_the_tokens_of_the_mask) {
  GptConfig config = one_block();
  config.masked_positions = true;
  config.position_offset = 2;
  Graph g;
  const Gpt gpt(Scope(g), config);
  const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  const Value mask = g.input("mask", DType::i64, {"batch", "seq"});
  const Program padded =
      Program("padded").output("logits", gpt({.ids = ids, .attention_mask = mask}).logits);
  const Program plain = Program("plain").output("logits", gpt({.ids = ids}).logits);
  Session session(g, {.seed = 5});
  const Tensor left = session.run(
      padded,
      {{"ids", Tensor::of<std::int32_t>({2, 5}, {0, 0, 5, 6, 7, 5, 0, 6, 7, 0})},
       {"mask", Tensor::of<std::int64_t>({2, 5}, {0, 0, 1, 1, 1, 1, 0, 1, 1, 0})}})["logits"];
  const Tensor right =
      session.run(plain, {{"ids", Tensor::of<std::int32_t>({1, 3}, {5, 6, 7})}})["logits"];
  const std::int64_t at[2][3] = {{2, 3, 4}, {0, 2, 3}};
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t id = 0; id < 13; ++id) {
        BOOST_TEST(std::abs(left.at((b * 5 + at[b][t]) * 13 + id) - right.at(t * 13 + id)) < 1e-5);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(latent_attention_matches_its_formula_and_gradients) {
  constexpr std::int64_t kHeads = 3, kPlain = 4, kRotary = 2, kValue = 5, kRank = 6;
  for (const std::int64_t query_rank : {0, 7}) {
    Graph g;
    const Scope net(g, "net");
    const Value x = g.input("x", DType::f64, {2, 5, 10});
    SelfAttentionOptions options{.heads = kHeads, .head_size = kPlain + kRotary};
    options.latent = {{.kv_rank = kRank, .query_rank = query_rank, .value_size = kValue}};
    options.rotary = kRotary;
    const Value y = make_self_attention(net, DType::f64, 10, options)(x);
    BOOST_TEST(g.find_variable("net.kv_up.weight").value().type().str() == "f64[27, 6]");
    const auto get = [&](const std::string& name) {
      return g.find_variable("net." + name).value();
    };
    const auto linear = [&](const std::string& name, Value in) {
      const Value out = matmul(in, get(name + ".weight"), {.transpose_b = true});
      return g.has_variable("net." + name + ".bias") ? out + get(name + ".bias") : out;
    };
    const auto part = [](Value v, std::int64_t begin, std::int64_t end) {
      return slice(v, -1, {.begin = Dim(begin), .end = Dim(end)});
    };
    const Value at = iota(g, {5}, 0, DType::i64);
    const Value compressed =
        query_rank == 0 ? x
                        : rms_norm(linear("query_down", x), get("query_down_norm.weight"), 1e-6);
    const Value q = split_heads(linear(query_rank == 0 ? "query" : "query_up", compressed), kHeads);
    const Value down = linear("kv_down", x);
    const Value up = split_heads(
        linear("kv_up", rms_norm(part(down, 0, kRank), get("kv_down_norm.weight"), 1e-6)), kHeads);
    const Value shared = rope(unsqueeze(part(down, kRank, kRank + kRotary), 1), at);
    // The scores are sums of a part without positions and a part with them.
    Value scores =
        matmul(part(q, 0, kPlain), part(up, 0, kPlain), {.transpose_b = true}) +
        matmul(rope(part(q, kPlain, kPlain + kRotary), at), shared, {.transpose_b = true});
    scores = scores / std::sqrt(static_cast<double>(kPlain + kRotary));
    scores = where(position_differences(g, 5) >= 0, scores, -1e300);
    const Value expected =
        linear("c_proj", join_heads(matmul(softmax(scores), part(up, kPlain, kPlain + kValue))));
    GradientCheckOptions check{.feeds = {{"x", normal_tensor({2, 5, 10}, 1, DType::f64)}},
                               .directions = 2,
                               .second_order = true};
    std::vector<Value> wrt = {x};
    std::uint64_t seed = 5;
    Session session(g, {.seed = 1});
    session.initialise();
    for (const Variable& v : g.parameters()) {
      wrt.push_back(v);
      check.variables.emplace_back(
          v.name(), normal_tensor(v.shape().constant(), seed++, DType::f64, 0.3, 0.5));
      session.set_value(v.name(), check.variables.back().second);
    }
    const Results both = session.run(Program("p").output("y", y).output("expected", expected),
                                     {{"x", check.feeds[0].second}});
    for (std::int64_t i = 0; i < both["y"].numel(); ++i)
      BOOST_TEST(std::abs(both["y"].at(i) - both["expected"].at(i)) < 1e-12);
    BOOST_TEST(check_gradients(y, wrt, check));
  }
}

BOOST_AUTO_TEST_CASE(a_fused_gate_computes_the_same_as_separate_matrices) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3, 4});
  const FeedForwardOptions separate{.inner = 5, .activation = Activation::silu, .gated = true};
  FeedForwardOptions together = separate;
  together.fused_gate = true;
  const Value a = make_feed_forward(Scope(g, "a"), DType::f64, 4, separate)(x);
  const Value b = make_feed_forward(Scope(g, "b"), DType::f64, 4, together)(x);
  Session session(g, {.seed = 3});
  session.initialise();
  for (const std::string end : {".weight", ".bias"}) {
    std::vector<double> rows = session.value("a.gate" + end).to_vector<double>();
    const std::vector<double> up = session.value("a.c_fc" + end).to_vector<double>();
    rows.insert(rows.end(), up.begin(), up.end());
    const std::string name = "b.gate_up" + end;
    session.set_value(name, Tensor::of<double>(session.value(name).sizes(), rows));
    session.set_value("b.c_proj" + end, session.value("a.c_proj" + end));
  }
  const Results both = session.run(Program("p").output("a", a).output("b", b),
                                   {{"x", normal_tensor({3, 4}, 1, DType::f64)}});
  for (std::int64_t i = 0; i < 12; ++i)
    BOOST_TEST(std::abs(both["a"].at(i) - both["b"].at(i)) < 1e-14);
  together.gated = false;
  BOOST_CHECK_EXCEPTION(make_feed_forward(Scope(g, "c"), DType::f64, 4, together), ArgumentError,
                        says("a fused gate needs a gated block"));
}

BOOST_AUTO_TEST_CASE(relu2_is_the_square_of_relu_with_its_gradient) {
  Graph g;
  const Value x = g.input("x", DType::f64, {4});
  const Value y = activate(parse_choice<Activation>("relu2"), x);
  Session session(g, {.threads = 1});
  const Tensor in = Tensor::of<double>({4}, {-2, 0, 0.5, 3});
  BOOST_TEST(session.run(Program("p").output("y", y), {{"x", in}})["y"].to_vector<double>() ==
                 (std::vector<double>{0, 0, 0.25, 9}),
             boost::test_tools::per_element());
  BOOST_TEST(check_gradients(y, {x}, {.feeds = {{"x", in}}}));
}

BOOST_AUTO_TEST_CASE(settings_with_the_same_meaning_give_the_same_logits) {
  using Change = std::function<void(GptConfig&)>;
  const auto logits = [](const Change& change) {
    GptConfig config = one_block();
    config.positions = GptPositions::rotary;
    config.tied_head = false;
    change(config);
    Graph g;
    const Value ids = g.input("ids", DType::i32, {1, 7});
    const Program program = Program("p").output("y", Gpt(Scope(g), config)({.ids = ids}).logits);
    Session session(g, {.seed = 5});
    return session
        .run(program, {{"ids", Tensor::of<std::int32_t>({1, 7}, {4, 9, 2, 0, 12, 5, 3})}})["y"]
        .to_vector<float>();
  };
  const auto difference = [&](const Change& a, const Change& b) {
    const std::vector<float> x = logits(a), y = logits(b);
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max<double>(most, std::abs(x[i] - y[i]));
    return most;
  };
  const auto window = [](GptConfig& c) {
    c.window = 3;
    c.rotary_base = 50;
  };
  const auto window_base = [](GptConfig& c) {
    c.window = 3;
    c.rotary_window_base = 50;
    c.rotary_scaling = RotaryScalingKind::linear;
    c.rotary_factor = 4;
  };
  const auto usual = [](GptConfig&) {};
  const auto scaled = [](GptConfig& c) {
    c.rotary_scaling = RotaryScalingKind::linear;
    c.rotary_factor = 4;
  };
  BOOST_TEST(difference(window, window_base) < 1e-6);
  BOOST_TEST(difference(window, usual) > 1e-3);
  BOOST_TEST(difference(scaled, usual) > 1e-3);
  BOOST_TEST(difference(scaled, [&](GptConfig& c) {
               window_base(c);
               c.window_layers = "0";
             }) < 1e-6);
  BOOST_TEST(difference([](GptConfig& c) { c.positions = GptPositions::none; },
                        [](GptConfig& c) { c.rotary_layers = "0"; }) < 1e-6);
  BOOST_TEST(difference(usual, [](GptConfig& c) { c.attention_scale = 0.5; }) < 1e-6);
  BOOST_TEST(difference([](GptConfig& c) { c.scale_attention = false; },
                        [](GptConfig& c) { c.attention_scale = 1; }) < 1e-6);
  BOOST_TEST(difference(usual, [](GptConfig& c) {
               c.window = 7;
               c.window_chunks = true;
             }) < 1e-6);
  BOOST_TEST(difference(usual, [](GptConfig& c) {
               c.query_growth = 1;
               c.query_growth_layers = "0";
             }) < 1e-6);
  BOOST_TEST(difference(usual, [](GptConfig& c) {
               c.query_growth = 1;
               c.query_growth_context = 7;
             }) < 1e-6);
  BOOST_TEST(difference(usual, [](GptConfig& c) {
               c.experts = 4;
               c.expert_layers = "0";
             }) < 1e-6);
  BOOST_TEST(difference(usual, [](GptConfig& c) {
               c.rotary_scaling = RotaryScalingKind::yarn;
               c.rotary_context = 16;
             }) < 1e-6);
  BOOST_TEST(difference(usual, [](GptConfig& c) {
               c.head_bias = true;
               c.clip_qkv = c.attention_soft_cap = c.logit_soft_cap = 1e6;
             }) < 1e-6);
}

BOOST_AUTO_TEST_CASE(router_losses_are_added_with_their_weights) {
  GptConfig config = one_block();
  config.experts = 3;
  config.balancing_weight = 0.5;
  config.router_z_weight = 0.25;
  Graph g;
  const Gpt gpt(Scope(g), config);
  const Value ids = g.input("ids", DType::i32, {2, 5});
  const Value mask = g.constant(Tensor::of<std::int64_t>({2, 5}, {1, 1, 1, 1, 1, 1, 1, 0, 0, 0}));
  const GptOutputs out = gpt({.ids = ids});
  const Value loss = mean(out.logits);
  BOOST_TEST(out.routings.size() == 1u);
  check_equal(g, with_router_losses(loss, config, out),
              loss + 0.5 * joint_balancing_loss(out.routings) + 0.25 * out.routings[0].z_loss());
  check_equal(
      g, with_router_losses(loss, config, out, mask),
      loss + 0.5 * joint_balancing_loss(out.routings, mask) + 0.25 * out.routings[0].z_loss());
  config.balancing_weight = config.router_z_weight = 0;
  BOOST_TEST((with_router_losses(loss, config, out) == loss));
}

BOOST_AUTO_TEST_CASE(correction_biases_of_routers_move_in_training_mode_only) {
  GptConfig config = one_block();
  config.layers = 3;
  config.experts = 4;
  config.experts_per_token = 1;
  config.expert_layers = "011";
  config.router_scores = RouterScores::sigmoid;
  config.router_correction = true;
  config.correction_speed = 0.25;
  Graph g;
  const Gpt gpt(Scope(g), config);
  const Value ids = g.input("ids", DType::i32, {1, 3});
  const Program train = Program("train").output("logits", gpt.training()({.ids = ids}).logits);
  const Program evaluate =
      Program("evaluate").output("logits", gpt.evaluation()({.ids = ids}).logits);
  Session session(g, {.seed = 5});
  const auto run = [&](const Program& program) {
    session.run(program, {{"ids", Tensor::of<std::int32_t>({1, 3}, {4, 9, 2})}});
    double moved = 0;
    for (const std::string layer : {"1", "2"}) {
      const Tensor t = session.value("transformer.h." + layer + ".mlp.router.correction");
      for (std::int64_t e = 0; e < 4; ++e) moved += std::abs(t.at(e));
    }
    return moved;
  };
  BOOST_TEST(run(evaluate) == 0.0);
  // 3 tokens for 4 experts: every expert is chosen more or less often than the mean.
  BOOST_TEST(run(train) == 2 * 4 * 0.25);
  BOOST_TEST(run(evaluate) == 2 * 4 * 0.25);
  BOOST_TEST(!g.has_variable("transformer.h.0.mlp.router.correction"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
