// Encoder-decoders: parameters, causality, padding, cached decoding, training on labels.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "encoder_decoder_kinds.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(encoder_decoder)
namespace {

using testing::says;

Tensor random_ids(std::int64_t batch, std::int64_t seq, std::int64_t vocab, std::uint64_t seed) {
  Tensor ids = Tensor::empty(DType::i64, {batch, seq});
  auto* out = ids.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const std::uint32_t word = RandomStream{seed}.word(static_cast<std::uint64_t>(i));
    out[i] = 2 + static_cast<std::int64_t>(word % static_cast<std::uint64_t>(vocab - 2));
  }
  return ids;
}

// A model with inputs "ids", "mask" and "decoder_ids", and its program "forward".
struct Forward {
  explicit Forward(const EncoderDecoderConfig& config)
      : net(Scope(graph, "net").evaluation(), config), program("forward") {
    const Value ids = graph.input("ids", DType::i64, {"batch", "seq"});
    const Value mask = graph.input("mask", DType::i64, {"batch", "seq"});
    const Value decoder_ids = graph.input("decoder_ids", DType::i64, {"batch", "target"});
    const StackOutputs encoded = net.encode(ids, mask);
    logits =
        net.logits(net.decode(decoder_ids, {}, encoded.last_hidden_state, mask).last_hidden_state);
    program.output("logits", logits);
  }
  Tensor run(Session& session, const Tensor& ids, const Tensor& mask, const Tensor& target) {
    return session.run(program, {{"ids", ids}, {"mask", mask}, {"decoder_ids", target}})["logits"];
  }

  Graph graph;
  EncoderDecoder net;
  Program program;
  Value logits;
};

double largest(const Tensor& t) {
  double most = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) most = std::max(most, std::abs(t.at(i)));
  return most;
}

BOOST_AUTO_TEST_CASE(configs_round_trip_and_invalid_configs_are_rejected) {
  for (const EncoderDecoderConfig& c : kinds())
    BOOST_TEST((EncoderDecoderConfig::from_json(c.to_json()) == c));
  const auto rejects = [](auto&& change, const std::string& message) {
    EncoderDecoderConfig c = shrink({});
    change(c);
    BOOST_CHECK_EXCEPTION(c.check(), ArgumentError, says(message));
  };
  rejects([](auto& c) { c.decoder_heads = 5; }, "width 12 is not a multiple of heads 5");
  rejects([](auto& c) { c.start_id = 23; }, "start_id 23 is outside the vocabulary of 23");
  rejects([](auto& c) { c.width = 15; }, "sinusoidal positions need an even width, not 15");
  rejects([](auto& c) { c.label_smoothing = 1; }, "label_smoothing must be in [0, 1), not 1");
  rejects(
      [](auto& c) {
        c.frozen_padding = true;
        c.padding_id = -1;
      },
      "frozen_padding needs a padding_id");
  rejects(
      [](auto& c) {
        c.positions = Seq2SeqPositions::learned;
        c.sinusoidal_endpoint = true;
      },
      "sinusoidal_endpoint needs sinusoidal positions");
  rejects(
      [](auto& c) {
        c.sinusoidal_endpoint = true;
        c.width = c.encoder_heads = c.decoder_heads = 3;
      },
      "sinusoidal_endpoint needs a width of at least 4, for two rates, not 3");
  rejects(
      [](auto& c) {
        c.positions_skip_padding = true;
        c.padding_id = -1;
      },
      "positions_skip_padding needs sinusoidal positions and a padding_id");
  rejects([](auto& c) { c.relative_bias_layers = true; },
          "relative_bias_layers needs relative_bias positions");
  rejects([](auto& c) { c.experts = 2; },
          "experts are blocks without gates and biases: set gated, bias and mlp_bias to false");
  rejects([](auto& c) { c.expert_capacity = 0; }, "expert_capacity must be at least 1, not 0");
  rejects([](auto& c) { c.decoder_sparse_step = -1; },
          "decoder_sparse_step must be at least 0, not -1");
  rejects([](auto& c) { c.router_jitter = 1; }, "router_jitter must be in [0, 1), not 1");
  const auto rejects_of = [](EncoderDecoderConfig c, auto&& change, const std::string& message) {
    change(c);
    BOOST_CHECK_EXCEPTION(c.check(), ArgumentError, says(message));
  };
  const auto gemma = [&](auto&& change, const char* what) {
    rejects_of(small_t5gemma(), change, what);
  };
  gemma([](auto& c) { c.decoder_kv_heads = 3; }, "decoder_kv_heads 3 must divide decoder_heads 4");
  gemma([](auto& c) { c.encoder_kv_heads = 2; }, "encoder_kv_heads 2 must divide encoder_heads 3");
  gemma([](auto& c) { c.head_size = 5; }, "need an even head size, not 5 in the encoder");
  gemma([](auto& c) { c.decoder_head_size = 7; }, "need an even head size, not 7 in the decoder");
  gemma([](auto& c) { c.decoder_vocab = 0; }, "decoder_width 14 differs from width 12");
  gemma([](auto& c) { c.encoder_window = 0; }, "encoder_window_layers needs encoder_window");
  gemma([](auto& c) { c.decoder_window_layers = "12"; }, "decoder_window_layers");
  gemma([](auto& c) { c.decoder_window = -1; }, "decoder_window must be at least 0, not -1");
  gemma([](auto& c) { c.rms_norm = false; }, "norm_offset needs rms_norm");
  gemma([](auto& c) { c.logit_soft_cap = -1; }, "logit_soft_cap");
  gemma([](auto& c) { c.decoder_rotary_base = -1; }, "decoder_rotary_base");
  gemma(
      [](auto& c) {
        c.head_size = c.decoder_head_size = 0;
        c.decoder_width = 13;
      },
      "width 13 is not a multiple of heads 4");
  const auto blocks = [&](auto&& change, const char* what) {
    rejects_of(small_pegasus_x(), change, what);
  };
  blocks([](auto& c) { c.encoder_block = 5; }, "encoder_block must be even, not 5");
  blocks([](auto& c) { c.global_tokens = 0; }, "encoder_block needs global_tokens of at least 1");
  blocks([](auto& c) { c.encoder_block = 0; },
         "global_tokens and stagger_blocks need an encoder_block");
  blocks([](auto& c) { c.norm = Seq2SeqNorm::post_norm; }, "encoder_block needs norm pre_norm");
  blocks([](auto& c) { c.encoder_window = 3; }, "no encoder_window");
  for (const bool capped : {false, true}) {
    blocks([&](auto& c) { capped ? void(c.attention_soft_cap = 2) : void(c.experts = 2); },
           "encoder_block supports neither attention_soft_cap nor experts");
  }
  rejects_of(
      switch_transformer(), [](auto& c) { c.mlp_bias = true; }, "set gated, bias and mlp_bias");
  EncoderDecoderConfig speech = shrink(EncoderDecoderConfig::whisper());
  speech.check();
  rejects_of(
      speech, [](auto& c) { c.embedding_norm = true; }, "mel_bins needs embedding_norm = false");
  BOOST_CHECK_EXCEPTION(EncoderDecoderConfig::from_json(R"({"family": "gpt"})"), FormatError,
                        says("of family \"gpt\", not \"encoder_decoder\""));
  std::string text = shrink({}).to_json();
  text.replace(text.find("sinusoidal"), 10, "cuneiforms");
  BOOST_CHECK_EXCEPTION(
      EncoderDecoderConfig::from_json(text), ArgumentError,
      says("unknown positions 'cuneiforms': expected one of sinusoidal, learned, relative_bias"));
}

BOOST_AUTO_TEST_CASE(published_configs_have_the_published_number_of_parameters) {
  const auto parameters = [](const EncoderDecoderConfig& c) {
    Graph g;
    const EncoderDecoder net(Scope(g), c);
    std::int64_t count = 0;
    for (const Variable& v : g.parameters()) count += v.shape().numel().constant();
    return count;
  };
  BOOST_TEST(parameters(EncoderDecoderConfig::t5()) == 60506624);     // t5-small
  BOOST_TEST(parameters(EncoderDecoderConfig::bart()) == 406291456);  // bart-large
}

BOOST_AUTO_TEST_CASE(distance_buckets_are_exact_for_small_and_logarithmic_for_large_distances) {
  const RelativeBiasOptions both{.buckets = 32, .max_distance = 128};
  BOOST_TEST(relative_bucket(0, both) == 0);
  BOOST_TEST(relative_bucket(-7, both) == 7);
  BOOST_TEST(relative_bucket(7, both) == 23);
  BOOST_TEST(relative_bucket(-8, both) == 8);
  BOOST_TEST(relative_bucket(-12, both) == 9);
  BOOST_TEST(relative_bucket(-127, both) == 15);
  BOOST_TEST(relative_bucket(-100000, both) == 15);
  BOOST_TEST(relative_bucket(100000, both) == 31);
  const RelativeBiasOptions causal{.buckets = 32, .max_distance = 128, .bidirectional = false};
  BOOST_TEST(relative_bucket(3, causal) == 0);
  BOOST_TEST(relative_bucket(-15, causal) == 15);
  BOOST_TEST(relative_bucket(-16, causal) == 16);
  BOOST_TEST(relative_bucket(-127, causal) == 31);
  Graph g;
  BOOST_CHECK_EXCEPTION(
      make_relative_bias(Scope(g, "bias"), DType::f32, {.heads = 2, .buckets = 2}), ArgumentError,
      says("heads is 2, buckets 2, max_distance 128"));
}

BOOST_AUTO_TEST_CASE(later_tokens_and_padding_do_not_change_other_positions) {
  for (const EncoderDecoderConfig& c : kinds()) {
    Forward model(c);
    Session session(model.graph, {.seed = 5});
    const std::int64_t vocab = std::min(c.vocab, c.target_vocab());
    const Tensor ids = random_ids(2, 7, vocab, 1), target = random_ids(2, 6, vocab, 2);
    Tensor mask = Tensor::full(DType::i64, {2, 7}, 1);
    mask.mutable_data<std::int64_t>()[12] = mask.mutable_data<std::int64_t>()[13] = 0;
    const Tensor before = model.run(session, ids, mask, target);
    Tensor other_ids = ids.clone(), other_target = target.clone();
    other_ids.mutable_data<std::int64_t>()[13] = 1;     // a padding position of row 1
    other_target.mutable_data<std::int64_t>()[11] = 1;  // the last token of row 1
    const Tensor after = model.run(session, other_ids, mask, other_target);
    const std::int64_t kept = (2 * 6 - 1) * c.target_vocab();
    double change = 0, change_of_last = 0;
    for (std::int64_t i = 0; i < before.numel(); ++i) {
      double& most = i < kept ? change : change_of_last;
      most = std::max(most, std::abs(before.at(i) - after.at(i)));
    }
    BOOST_TEST(change == 0);
    BOOST_TEST(change_of_last > 1e-3);
  }
}

BOOST_AUTO_TEST_CASE(tokens_masked_by_the_decoder_mask_have_no_effect) {
  for (const EncoderDecoderConfig& c : kinds()) {
    Graph g;
    const EncoderDecoder net(Scope(g, "net").evaluation(), c);
    const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
    const Value target = g.input("target", DType::i64, {"batch", "length"});
    const Value mask = g.input("mask", DType::i64, {"batch", "length"});
    const Value memory = net.encode(ids, {}).last_hidden_state;
    Program program("p");
    program.output("masked", net.decode(target, mask, memory, {}).last_hidden_state)
        .output("plain", net.decode(target, {}, memory, {}).last_hidden_state);
    Session session(g, {.seed = 2});
    const std::int64_t vocab = std::min(c.vocab, c.target_vocab());
    const Tensor source = random_ids(1, 5, vocab, 1), tokens = random_ids(1, 4, vocab, 2);
    const auto run = [&](const Tensor& m) {
      return session.run(program, {{"ids", source}, {"target", tokens}, {"mask", m}});
    };
    const Results all = run(Tensor::full(DType::i64, {1, 4}, 1));
    const Results some = run(Tensor::of<std::int64_t>({1, 4}, {1, 1, 0, 1}));
    const Results left = run(Tensor::of<std::int64_t>({1, 4}, {0, 0, 1, 1}));
    double same = 0, before_hole = 0, after_hole = 0;
    for (std::int64_t i = 0; i < all["plain"].numel(); ++i) {
      same = std::max(same, std::abs(all["plain"].at(i) - all["masked"].at(i)));
      const double d = std::abs(all["plain"].at(i) - some["masked"].at(i));
      const bool before = i < 2 * c.decoder().width;
      (before ? before_hole : after_hole) = std::max(before ? before_hole : after_hole, d);
      BOOST_TEST(std::isfinite(left["masked"].at(i)));
    }
    BOOST_TEST(same < 1e-5);
    BOOST_TEST(before_hole < 1e-5);
    BOOST_TEST(after_hole > 1e-3);
  }
}

BOOST_AUTO_TEST_CASE(cached_decoding_matches_recomputation) {
  for (const EncoderDecoderConfig& c : kinds()) {
    Forward model(c);
    Graph& g = model.graph;
    const Dim rows = g.dim("rows");
    const DecodingInputs inputs{
        .ids = g.input("prompt", DType::i64, {"prompts", "source"}),
        .attention_mask = g.input("prompt_mask", DType::i64, {"prompts", "source"}),
        .prompt_of_row = g.input("prompt_of_row", DType::i64, {rows}),
        .tokens = g.input("tokens", DType::i64, {rows, "new"}),
        .position = g.input("position", DType::i64, {}),
        .parents = g.input("parents", DType::i64, {rows}),
        .capacity = g.dim("capacity")};
    const EncoderDecoderDecoding decoding = model.net.decoding(inputs);
    Program prompt("prompt"), step("step");
    prompt.update(decoding.prompt);
    step.output("logits", decoding.logits).update(decoding.step);

    Session session(g, {.seed = 5});
    const std::int64_t vocab = std::min(c.vocab, c.target_vocab());
    const Tensor ids = random_ids(2, 7, vocab, 1), target = random_ids(2, 6, vocab, 2);
    Tensor mask = Tensor::full(DType::i64, {2, 7}, 1);
    mask.mutable_data<std::int64_t>()[13] = 0;
    const Tensor whole = model.run(session, ids, mask, target);
    const RunOptions sizes{.dims = {{"capacity", 9}}};
    session.run(prompt,
                {{"prompt", ids},
                 {"prompt_mask", mask},
                 {"prompt_of_row", Tensor::of<std::int64_t>({4}, {0, 0, 1, 1})}},
                sizes);
    // The targets are in rows 1 and 3. They are moved to rows 0 and 2 before token 2, and moved
    // back before token 4.
    double worst = 0;
    for (std::int64_t t = 0; t < 6; ++t) {
      Tensor tokens = Tensor::full(DType::i64, {4, 1}, 2);
      const bool moved = t == 2 || t == 3;
      for (std::int64_t b = 0; b < 2; ++b) {
        tokens.mutable_data<std::int64_t>()[2 * b + (moved ? 0 : 1)] =
            target.data<std::int64_t>()[b * 6 + t];
      }
      const Tensor parents = t == 2 || t == 4 ? Tensor::of<std::int64_t>({4}, {1, 0, 3, 2})
                                              : Tensor::of<std::int64_t>({4}, {0, 1, 2, 3});
      const Tensor logits = session.run(step,
                                        {{"tokens", tokens},
                                         {"position", Tensor::of<std::int64_t>({}, {t})},
                                         {"parents", parents}},
                                        sizes)["logits"];
      const std::int64_t n = c.target_vocab();
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t v = 0; v < n; ++v) {
          worst = std::max(worst, std::abs(whole.at((b * 6 + t) * n + v) -
                                           logits.at((2 * b + (moved ? 0 : 1)) * n + v)));
        }
      }
    }
    BOOST_TEST(worst <= 1e-5 * largest(whole));
  }
}

BOOST_AUTO_TEST_CASE(relative_biases_accept_sequences_of_any_length) {
  Forward model(shrink(EncoderDecoderConfig::t5()));
  Session session(model.graph);
  const Tensor logits = model.run(session, random_ids(1, 90, 23, 1),
                                  Tensor::full(DType::i64, {1, 90}, 1), random_ids(1, 70, 23, 2));
  for (std::int64_t i = 0; i < logits.numel(); ++i) BOOST_REQUIRE(std::isfinite(logits.at(i)));
}

BOOST_AUTO_TEST_CASE(padding_is_not_counted_by_positions_that_skip_it) {
  // With left and inner padding, the tokens of M2M100 have the encodings of the text alone.
  EncoderDecoderConfig c = small_m2m100();
  Graph g;
  const EncoderDecoder net(Scope(g, "net").evaluation(), c);
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const Value mask = g.input("mask", DType::i64, {"batch", "seq"});
  Program program("p");
  program.output("h", net.encode(ids, mask).last_hidden_state);
  Session session(g, {.seed = 2});
  const auto encode = [&](const Tensor& tokens, const Tensor& visible) {
    return session.run(program, {{"ids", tokens}, {"mask", visible}})["h"].clone();
  };
  const auto row = [](const std::vector<std::int64_t>& values) {
    return Tensor::of<std::int64_t>({1, std::ssize(values)}, values);
  };
  const Tensor alone = encode(row({5, 9, 12}), row({1, 1, 1}));
  const Tensor padded = encode(row({1, 1, 5, 1, 9, 12}), row({0, 0, 1, 0, 1, 1}));
  const std::int64_t places[] = {2, 4, 5};
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < c.width; ++j) {
      BOOST_TEST(std::abs(alone.at(i * c.width + j) - padded.at(places[i] * c.width + j)) < 1e-5);
    }
  }
  c.positions_skip_padding = false;  // positions are then those of the row
  Graph other;
  const EncoderDecoder plain(Scope(other, "net").evaluation(), c);
  BOOST_TEST(other.parameters().size() == g.parameters().size());
}

BOOST_AUTO_TEST_CASE(sparse_steps_select_the_layers_with_experts) {
  EncoderDecoderConfig c = switch_transformer();
  const auto layers = [&](std::int64_t step) {
    c.encoder_sparse_step = step;
    std::string found;
    for (std::int64_t i = 0; i < 7; ++i) found += c.has_experts(i, false) ? '1' : '0';
    return found;
  };
  BOOST_TEST(layers(0) == "0000000");
  BOOST_TEST(layers(1) == "1111111");
  BOOST_TEST(layers(2) == "0101010");
  BOOST_TEST(layers(3) == "0100100");
  c.experts = 0;
  BOOST_TEST(layers(1) == "0000000");
}

BOOST_AUTO_TEST_CASE(router_losses_are_part_of_the_training_loss_only) {
  const EncoderDecoderConfig c = switch_transformer();
  Graph g;
  const EncoderDecoder net(Scope(g, "net"), c);
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const auto losses = [&](const EncoderDecoder& model, Program& program, const std::string& name) {
    const StackOutputs encoded = model.encode(ids, {});
    const StackOutputs decoded = model.decode(ids, {}, encoded.last_hidden_state, {});
    const Value plain = sum(decoded.last_hidden_state) * 0;
    program.output(name, model.with_router_losses(plain, encoded, decoded));
    if (name != "training") return;
    const RouterLosses a = router_losses(encoded), b = router_losses(decoded);
    program.output("expected", (a.balancing + b.balancing) * 0.01 + (a.z + b.z) * 0.001);
    BOOST_TEST(encoded.routed.size() == 1U);
    BOOST_TEST(encoded.routed[0].layer == 1);
    BOOST_TEST(decoded.routed.size() == 2U);
    BOOST_TEST(decoded.routed[0].logits.type().str() == "f32[batch, seq, 4]");
  };
  Program program("p");
  losses(net.training(), program, "training");
  losses(net.evaluation(), program, "evaluation");
  Session session(g, {.seed = 3});
  const Results r = session.run(program, {{"ids", random_ids(2, 5, c.vocab, 1)}});
  BOOST_TEST(r["evaluation"].item<float>() == 0);
  BOOST_TEST(r["training"].item<float>() > 0.01F);
  BOOST_TEST(std::abs(r["training"].item<float>() - r["expected"].item<float>()) < 1e-6F);
  // Without texts, the losses are 0.
  BOOST_TEST(session.run(program, {{"ids", Tensor::empty(DType::i64, {0, 3})}})["training"]
                 .item<float>() == 0);
  Graph dense;
  const EncoderDecoder t5(Scope(dense, "net").evaluation(), shrink(EncoderDecoderConfig::t5()));
  const StackOutputs encoded = t5.encode(dense.input("ids", DType::i64, {"batch", "seq"}), {});
  BOOST_CHECK_EXCEPTION(router_losses(encoded), ArgumentError,
                        says("router_losses needs a stack with experts"));
}

BOOST_AUTO_TEST_CASE(one_expert_per_layer_is_active_for_a_token) {
  EncoderDecoderConfig c = switch_transformer();
  Forward model(c);
  const Dim batch = model.graph.dim("batch");
  const std::vector<Dim> tokens = {batch * model.graph.dim("seq"),
                                   batch * model.graph.dim("target")};
  // Three layers have four experts, each with two matrices.
  const std::int64_t idle = 3 * 3 * 2 * c.width * c.encoder_inner;
  const std::int64_t all = count_parameters(model.graph);
  BOOST_TEST(count_active_parameters(model.program, tokens) == all - idle);
  BOOST_TEST(count_active_parameters(model.program, tokens[0]) == all - idle / 3);
  c.experts = 0;
  const Forward dense(c);
  BOOST_TEST(count_active_parameters(dense.program, tokens[0]) == count_parameters(dense.graph));
}

BOOST_AUTO_TEST_CASE(experts_have_the_width_of_their_stack) {
  EncoderDecoderConfig c = switch_transformer();
  c.decoder_vocab = c.vocab;
  c.decoder_width = c.width + 2;
  Graph g;
  const EncoderDecoder net(Scope(g, "net").evaluation(), c);
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const Value memory = net.encode(ids, {}).last_hidden_state;
  const StackOutputs decoded = net.decode(ids, {}, memory, {});
  BOOST_TEST(memory.type().str() == "f32[batch, seq, 12]");
  BOOST_TEST(decoded.last_hidden_state.type().str() == "f32[batch, seq, 14]");
}

BOOST_AUTO_TEST_CASE(labels_are_shifted_right_after_the_start_token) {
  const auto shifted = [](const EncoderDecoderConfig& c) {
    Graph g;
    const EncoderDecoder net(Scope(g), c);
    Program p("p");
    p.output("ids", net.shift_right(g.input("labels", DType::i64, {"batch", "target"})));
    Session session(g);
    const Tensor ids = session.run(
        p, {{"labels", Tensor::of<std::int64_t>({2, 4}, {5, 6, 7, 8, 9, 10, -100, -100})}})["ids"];
    return std::vector<std::int64_t>(ids.data<std::int64_t>(), ids.data<std::int64_t>() + 8);
  };
  EncoderDecoderConfig c = shrink({});
  BOOST_TEST((shifted(c) == std::vector<std::int64_t>{0, 5, 6, 7, 0, 9, 10, 1}));
  c.decoder_start = DecoderStart::last_label;
  BOOST_TEST((shifted(c) == std::vector<std::int64_t>{8, 5, 6, 7, 10, 9, 10, 1}));
  c.padding_id = -1;
  BOOST_CHECK_EXCEPTION(shifted(c), ArgumentError, says("only if the config has a padding_id"));
  c = shrink({});
  c.start_id = -1;
  BOOST_CHECK_EXCEPTION(shifted(c), ArgumentError, says("only if the config has a start_id"));
}

BOOST_AUTO_TEST_CASE(an_encoder_only_model_cannot_decode) {
  Graph g;
  const EncoderDecoder net(Scope(g).evaluation(), shrink({}), Stacks::encoder);
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const Value memory = net.encode(ids, {}).last_hidden_state;
  BOOST_CHECK_THROW(g.find_variable("decoder.layers.0.attention_norm.weight"), GraphError);
  BOOST_CHECK_EXCEPTION(net.decode(ids, {}, memory, {}), ArgumentError,
                        says("the model has no decoder"));
}

// Trains a small model with the complete recipe of Vaswani et al. (2017) to reverse sequences.
BOOST_AUTO_TEST_CASE(a_transformer_learns_to_reverse_sequences) {
  EncoderDecoderConfig c = shrink({});
  c.vocab = 10;
  c.width = 32;
  c.encoder_heads = c.decoder_heads = 4;
  c.encoder_inner = c.decoder_inner = 64;
  c.encoder_layers = c.decoder_layers = 1;
  c.initializer_range = 0.1;
  c.dropout = c.attention_dropout = c.activation_dropout = 0.02;
  c.encoder_layer_dropout = c.decoder_layer_dropout = 0.01;
  c.label_smoothing = 0.02;
  Graph g;
  const EncoderDecoder net(Scope(g, "net"), c);
  const Value ids = g.input("ids", DType::i64, {"batch", "seq"});
  const Value labels = g.input("labels", DType::i64, {"batch", "seq"});
  const auto loss_of = [&](const EncoderDecoder& model) {
    const Value memory = model.encode(ids, {}).last_hidden_state;
    const Value h = model.decode(model.shift_right(labels), {}, memory, {}).last_hidden_state;
    return model.loss(model.logits(h), labels);
  };
  const Value training_loss = loss_of(net.training());
  Program train("train"), test("test");
  train.output("loss", training_loss)
      .update(adamw(
          training_loss, g.parameters(),
          {.lr = inverse_square_root(5e-3, 50, {.shift = 1}), .beta2 = 0.98, .weight_decay = 0}));
  test.output("loss", loss_of(net.evaluation()));
  Session session(g, {.seed = 3});
  const auto feeds = [&](std::uint64_t seed) {
    const Tensor x = random_ids(32, 5, 10, seed);
    Tensor y = x.clone();
    for (std::int64_t b = 0; b < 32; ++b)
      std::reverse(y.mutable_data<std::int64_t>() + b * 5,
                   y.mutable_data<std::int64_t>() + b * 5 + 5);
    return NamedTensors{{"ids", x}, {"labels", y}};
  };
  for (std::uint64_t s = 0; s < 400; ++s) session.run(train, feeds(s));
  const double loss = session.run(test, feeds(100000))["loss"].at(0);
  BOOST_TEST(loss < 0.2);  // chance level is log(8) = 2.08
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
