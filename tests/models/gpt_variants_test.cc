// Properties that hold for GPT decoders in all configurations.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gpt_variants.h"
#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"
#include "weft/models/layers/attention/positions.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(gpt_variants)
namespace {

Tensor random_ids(std::int64_t batch, std::int64_t seq, std::int64_t vocab, std::uint64_t seed) {
  Tensor ids = Tensor::empty(DType::i32, {batch, seq});
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const std::uint32_t word = RandomStream{seed}.word(static_cast<std::uint64_t>(i));
    ids.mutable_data<std::int32_t>()[i] =
        static_cast<std::int32_t>(word % static_cast<std::uint64_t>(vocab));
  }
  return ids;
}

double difference(const float* a, const float* b, std::int64_t n) {
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max<double>(most, std::abs(a[i] - b[i]));
  return most;
}

double largest(const Tensor& t) {
  double most = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) most = std::max(most, std::abs(t.at(i)));
  return most;
}

BOOST_AUTO_TEST_CASE(the_parameter_count_of_the_config_is_correct) {
  for (const Variant& variant : variants()) {
    Graph g;
    const Gpt model(Scope(g), variant.config);
    std::int64_t parameters = 0;
    for (const Variable& v : g.parameters()) parameters += v.shape().numel().constant();
    BOOST_TEST(parameters == variant.config.parameter_count(), variant.name);
    BOOST_TEST((GptConfig::from_json(variant.config.to_json()) == variant.config), variant.name);
  }
  GptConfig seven = GptConfig::llama();  // published as LLaMA-7B
  seven.layers = seven.heads = 32;
  seven.width = 4096;
  seven.inner = 11008;
  BOOST_TEST(seven.parameter_count() == 6738415616);
}

BOOST_AUTO_TEST_CASE(later_tokens_and_a_mask_of_ones_do_not_change_the_logits) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt model(Scope(g), variant.config);
      const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
      const Value mask = g.input("mask", DType::i64, {"batch", "seq"});
      const Program plain = Program("plain").output("logits", model({.ids = ids}).logits);
      const Program masked =
          Program("masked").output("logits", model({.ids = ids, .attention_mask = mask}).logits);
      Session session(g, {.seed = 2, .threads = 2});
      constexpr std::int64_t kSeq = 11, kSeen = 6;
      const std::int64_t vocab = variant.config.vocab;
      Tensor tokens = random_ids(1, kSeq, vocab, 1);
      const Tensor all = session.run(plain, {{"ids", tokens}})["logits"];
      const double bound = 1e-5 * largest(all);
      const Tensor same = session.run(
          masked, {{"ids", tokens}, {"mask", Tensor::full(DType::i64, {1, kSeq}, 1)}})["logits"];
      BOOST_TEST(difference(all.data<float>(), same.data<float>(), all.numel()) < bound);
      for (std::int64_t i = kSeen; i < kSeq; ++i) {
        auto* id = tokens.mutable_data<std::int32_t>() + i;
        *id = static_cast<std::int32_t>((*id + 7) % vocab);
      }
      const Tensor changed = session.run(plain, {{"ids", tokens}})["logits"];
      BOOST_TEST(difference(all.data<float>(), changed.data<float>(), kSeen * vocab) < bound);
      BOOST_TEST(difference(all.data<float>() + kSeen * vocab,
                            changed.data<float>() + kSeen * vocab, vocab) > 100 * bound);
    }
  }
}

BOOST_AUTO_TEST_CASE(cached_decoding_matches_recomputation_for_every_variant) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt model(Scope(g), variant.config);
      const Value ids = g.input("tokens", DType::i32, {"batch", "seq"});
      const Value position = g.input("position", DType::i64, {});
      const Program full = Program("full").output("logits", model({.ids = ids}).logits);
      const GptDecoding decoding = model.decode(ids, position, g.dim("capacity"));
      const Program decode =
          Program("decode").output("logits", decoding.logits).update(decoding.updates);
      Session session(g, {.seed = 4, .threads = 2, .poison = true});
      constexpr std::int64_t kBatch = 3, kSeq = 13;
      const std::int64_t vocab = variant.config.vocab;
      const Tensor all = random_ids(kBatch, kSeq, vocab, 8);
      const Tensor reference = session.run(full, {{"tokens", all}})["logits"];
      const double bound = 1e-5 * largest(reference);
      std::int64_t done = 0;
      for (const std::int64_t count : {4, 1, 1, 3, 1, 1, 2}) {
        Tensor piece = Tensor::empty(DType::i32, {kBatch, count});
        for (std::int64_t b = 0; b < kBatch; ++b) {
          std::copy_n(all.data<std::int32_t>() + b * kSeq + done, count,
                      piece.mutable_data<std::int32_t>() + b * count);
        }
        const Tensor logits = session.run(
            decode, {{"tokens", piece}, {"position", Tensor::of<std::int64_t>({}, {done})}},
            {.dims = {{"capacity", kSeq}}})["logits"];
        done += count;
        for (std::int64_t b = 0; b < kBatch; ++b) {
          BOOST_TEST(difference(logits.data<float>() + b * vocab,
                                reference.data<float>() + (b * kSeq + done - 1) * vocab,
                                vocab) < bound);
        }
      }
    }
  }
}

Tensor numbers(const Sizes& sizes, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(sizes, values);
}

/// Compares the logits of `count` tokens, from token `at` of row `row` of `got` [rows, seq, vocab],
/// with those of a single text.
void check_logits(const Tensor& got, std::int64_t row, std::int64_t at, const Tensor& text,
                  std::int64_t count) {
  const std::int64_t vocab = got.size(2);
  BOOST_TEST(difference(got.data<float>() + (row * got.size(1) + at) * vocab, text.data<float>(),
                        count * vocab) < 1e-5 * largest(text));
}

BOOST_AUTO_TEST_CASE(left_padding_and_packed_texts_do_not_change_the_logits_of_any_variant) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt model(Scope(g), variant.config);
      const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
      const Value mask = g.input("mask", DType::i64, {"batch", "seq"});
      const Value segments = g.input("segments", DType::i64, {"batch", "seq"});
      const Value positions = g.input("positions", DType::i64, {"batch", "seq"});
      const Value visible = g.input("visible", DType::boolean, {"batch", "capacity"});
      const Value position = g.input("position", DType::i64, {});
      const Program plain = Program("plain").output("logits", model({.ids = ids}).logits);
      const Program padded = Program("padded").output(
          "logits", model({.ids = ids, .attention_mask = mask, .position_ids = positions}).logits);
      const Program packed = Program("packed").output(
          "logits", model({.ids = ids, .position_ids = positions, .segments = segments}).logits);
      const GptDecoding decoding = model.decode(
          {.tokens = ids, .position = position, .position_ids = positions, .mask = visible},
          g.dim("capacity"));
      const Program decode =
          Program("decode").output("logits", decoding.logits).update(decoding.updates);
      Session session(g, {.seed = 2, .threads = 2});
      // Two texts of 4 and 9 tokens.
      const Tensor row = random_ids(1, 13, variant.config.vocab, 6);
      const auto part = [&](std::int64_t begin, std::int64_t count) {
        Tensor text = Tensor::empty(DType::i32, {1, count});
        std::copy_n(row.data<std::int32_t>() + begin, count, text.mutable_data<std::int32_t>());
        return text;
      };
      const Tensor first = session.run(plain, {{"ids", part(0, 4)}})["logits"];
      const Tensor second = session.run(plain, {{"ids", part(4, 9)}})["logits"];
      const std::vector<std::int64_t> places = {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8};
      const Tensor both = session.run(
          packed,
          {{"ids", row},
           {"positions", numbers({1, 13}, places)},
           {"segments", numbers({1, 13}, {1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2})}})["logits"];
      check_logits(both, 0, 0, first, 4);
      check_logits(both, 0, 4, second, 9);
      // The second text, with 4 tokens of padding.
      const std::vector<std::int64_t> valid = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
      const Tensor left = session.run(padded, {{"ids", row},
                                               {"mask", numbers({1, 13}, valid)},
                                               {"positions", numbers({1, 13}, places)}})["logits"];
      check_logits(left, 0, 4, second, 9);
      Tensor seen = Tensor::empty(DType::boolean, {1, 13});
      for (std::int64_t i = 0; i < 13; ++i) seen.mutable_data<bool>()[i] = i >= 4;
      std::int64_t done = 0;
      for (const std::int64_t count : {6, 1, 2, 4}) {
        const std::vector<std::int64_t> at(places.begin() + done, places.begin() + done + count);
        const Tensor logits = session.run(decode, {{"ids", part(done, count)},
                                                   {"position", numbers({}, {done})},
                                                   {"positions", numbers({1, count}, at)},
                                                   {"visible", seen}})["logits"];
        done += count;
        const std::int64_t vocab = variant.config.vocab;
        BOOST_TEST(difference(logits.data<float>(), second.data<float>() + (done - 5) * vocab,
                              vocab) < 1e-5 * largest(second));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(generation_of_every_variant_matches_greedy_recomputation) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      GptConfig config = variant.config;
      // The text outgrows the first context of longrope.
      if (config.rotary_scaling == RotaryScalingKind::longrope) config.rotary_context = 12;
      Graph g;
      const Gpt model(Scope(g), config);
      const Value tokens = g.input("tokens", DType::i64, {"batch", "seq"});
      const Program full = Program("full").output("logits", model({.ids = tokens}).logits);
      const Program decode = model.decode_program(tokens);
      Session session(g, {.seed = 4, .threads = 1});
      Generator generator(session, decode, config);
      TokenIds expected = {5, 1, 7, 2, 11, 3};
      const TokenIds prompt = expected;
      // Longer than the windows and the chunks.
      while (expected.size() < 16) {
        const auto n = static_cast<std::int64_t>(expected.size());
        const Tensor logits =
            session.run(full, {{"tokens", Tensor::of<std::int64_t>({1, n}, expected)}})["logits"];
        const auto last = logits.span<float>().subspan((n - 1) * config.vocab);
        expected.push_back(std::max_element(last.begin(), last.end()) - last.begin());
      }
      const TokenIds text = generator.generate({prompt}, {.max_new = 10}).run().sequences.front();
      BOOST_TEST(text == expected, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_every_variant_are_correct) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt model(Scope(g), variant.config);
      const Value ids = g.input("ids", DType::i32, {2, 6});
      const Value mask = g.input("mask", DType::i64, {2, 6});
      const GptOutputs outputs = model({.ids = ids, .attention_mask = mask});
      const Value loss =
          with_router_losses(next_token_loss(outputs.logits, ids), variant.config, outputs, mask);
      std::vector<Value> wrt;
      for (const Variable& v : g.parameters()) wrt.push_back(v);
      BOOST_TEST(check_gradients(
          loss, wrt,
          {.feeds = {{"ids", random_ids(2, 6, variant.config.vocab, 4)},
                     {"mask", numbers({2, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0})}},
           .seed = 3,
           .directions = 2}));
    }
  }
}

BOOST_AUTO_TEST_CASE(models_without_learned_positions_accept_texts_beyond_the_context) {
  for (const Variant& variant : variants()) {
    if (variant.config.positions == GptPositions::learned) continue;
    BOOST_TEST_CONTEXT(variant.name) {
      Graph g;
      const Gpt model(Scope(g), variant.config);
      const Program program = Program("p").output(
          "logits", model({.ids = g.input("ids", DType::i32, {"batch", "seq"})}).logits);
      Session session(g, {.seed = 3, .threads = 1});
      const std::int64_t seq = 3 * variant.config.context;
      const Tensor logits =
          session.run(program, {{"ids", random_ids(1, seq, variant.config.vocab, 5)}})["logits"];
      BOOST_TEST(std::isfinite(largest(logits)));
    }
  }
}

BOOST_AUTO_TEST_CASE(tokens_outside_the_window_have_no_effect) {
  GptConfig config = variants()[1].config;
  config.layers = 1;
  config.window = 4;
  Graph g;
  const Gpt model(Scope(g), config);
  const Program program = Program("p").output(
      "logits", model({.ids = g.input("ids", DType::i32, {"batch", "seq"})}).logits);
  Session session(g, {.seed = 3, .threads = 1});
  Tensor tokens = random_ids(1, 9, config.vocab, 5);
  const Tensor before = session.run(program, {{"ids", tokens}})["logits"];
  auto* first = tokens.mutable_data<std::int32_t>();
  *first = (*first + 5) % static_cast<std::int32_t>(config.vocab);
  const Tensor after = session.run(program, {{"ids", tokens}})["logits"];
  const std::int64_t vocab = config.vocab;
  const auto row = [&](std::int64_t i) {
    return difference(before.data<float>() + i * vocab, after.data<float>() + i * vocab, vocab);
  };
  BOOST_TEST(row(3) > 1e-3);
  BOOST_TEST(row(4) == 0.0);
}

BOOST_AUTO_TEST_CASE(linear_bias_slopes_match_the_paper) {
  const std::vector<double> eight = linear_bias_slopes(8);
  for (int i = 0; i < 8; ++i) BOOST_TEST(eight[static_cast<std::size_t>(i)] == std::exp2(-(i + 1)));
  const std::vector<double> six = linear_bias_slopes(6);
  const std::vector<double> expected = {std::exp2(-2), std::exp2(-4), std::exp2(-6),
                                        std::exp2(-8), std::exp2(-1), std::exp2(-3)};
  BOOST_TEST(six == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sinusoidal_positions_match_the_formula) {
  Graph g;
  const Value positions = g.input("p", DType::i64, {"n"});
  const Program program = Program("p").output("x", sinusoidal_positions(positions, 6, DType::f32));
  Session session(g, {.threads = 1});
  const Tensor x = session.run(program, {{"p", Tensor::of<std::int64_t>({2}, {3, 1000})}})["x"];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double angle = (i == 0 ? 3.0 : 1000.0) * std::pow(10000.0, -2.0 * j / 6);
      BOOST_TEST(std::abs(x.at(6 * i + j) - std::sin(angle)) < 1e-6);
      BOOST_TEST(std::abs(x.at(6 * i + 3 + j) - std::cos(angle)) < 1e-6);
    }
  }
  BOOST_CHECK_EXCEPTION(
      sinusoidal_positions(positions, 5, DType::f32), ArgumentError, [](const Error& e) {
        return std::string(e.what()).find("width must be even") != std::string::npos;
      });
  // The rates of fairseq end at 1/10000. If the width is odd, the last feature is 0.
  const auto endpoint = SinusoidalRates::endpoint;
  const Program odd =
      Program("odd").output("x", sinusoidal_positions(positions, 7, DType::f32, endpoint));
  const Tensor seven = session.run(odd, {{"p", Tensor::of<std::int64_t>({1}, {500})}})["x"];
  const double rates[] = {1, 0.01, 0.0001};
  for (int j = 0; j < 3; ++j) {
    BOOST_TEST(std::abs(seven.at(j) - std::sin(500 * rates[j])) < 1e-6);
    BOOST_TEST(std::abs(seven.at(3 + j) - std::cos(500 * rates[j])) < 1e-6);
  }
  BOOST_TEST(seven.at(6) == 0);
  BOOST_CHECK_EXCEPTION(
      sinusoidal_positions(positions, 3, DType::f32, endpoint), ArgumentError, [](const Error& e) {
        return std::string(e.what()).find("width must be at least 4, for two rates, not 3") !=
               std::string::npos;
      });
}

BOOST_AUTO_TEST_CASE(invalid_configs_are_rejected) {
  const auto rejects = [](const std::function<void(GptConfig&)>& change, const std::string& part) {
    GptConfig config = variants()[1].config;
    change(config);
    BOOST_CHECK_EXCEPTION(config.check(), ArgumentError, [&](const Error& e) {
      BOOST_TEST_INFO(e.what());
      return std::string(e.what()).find(part) != std::string::npos;
    });
  };
  rejects([](GptConfig& c) { c.kv_heads = 3; }, "kv_heads 3 must divide heads 4");
  rejects([](GptConfig& c) { c.kv_heads = 2, c.projection = QkvProjection::fused_by_quarter; },
          "projection fused_by_quarter needs kv_heads = heads, a multiple of 4, not heads "
          "4 and kv_heads 2");
  rejects([](GptConfig& c) { c.rotary_share = 0.2; }, "the number must be even");
  rejects([](GptConfig& c) { c.rotary_share = 2; }, "rotary_share must be in (0, 1], not 2");
  rejects([](GptConfig& c) { c.window = -1; }, "window must not be negative");
  rejects([](GptConfig& c) { c.padding_id = 23; }, "padding_id 23 is outside the vocabulary");
  std::string json = variants()[1].config.to_json();
  json.replace(json.find("rms_norm"), 8, "sum_norm");
  BOOST_CHECK_THROW(GptConfig::from_json(json), ArgumentError);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
