#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/attention/attention_maps.h"
#include "weft/models/layers/attention/multi_head_attention.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(attention_map)
namespace {

Tensor waves(const Sizes& sizes, double frequency) {
  Tensor t = Tensor::empty(DType::f32, sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.mutable_data<float>()[i] = static_cast<float>(2 * std::sin(frequency * (i + 1.0)));
  return t;
}

// The expected probabilities are computed by hand: a softmax over the visible keys, for attention
// with a bias, grouped-query heads and sequence lengths.
BOOST_AUTO_TEST_CASE(probabilities_are_the_softmax_of_scaled_biased_and_masked_scores) {
  constexpr std::int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kLength = 5, kSize = 3;
  Graph g;
  const Value q = g.input("q", DType::f32, {"batch", kHeads, "seq", kSize});
  const Value k = g.input("k", DType::f32, {"batch", kKvHeads, "seq", kSize});
  const Value bias = g.input("bias", DType::f32, {1, kHeads, "seq", "seq"});
  const Value lengths = g.input("lengths", DType::i64, {"batch"});
  const Value y = attention(q, k, k,
                            {.bias = bias,
                             .causal = true,
                             .scale = 0.7,
                             .lengths = lengths,
                             .dropout = 0.5,
                             .key = g.key("dropout")});
  const std::vector<AttentionMap> maps = attention_maps(sum(y));
  BOOST_REQUIRE(maps.size() == 1U);
  Program program("p");
  program.output("p", maps[0].probabilities);
  BOOST_TEST(program.updates().empty());  // no dropout, so no random key is updated
  Session session(g, {.seed = 1});
  const Tensor tq = waves({kBatch, kHeads, kLength, kSize}, 1.3),
               tk = waves({kBatch, kKvHeads, kLength, kSize}, 0.9),
               tb = waves({1, kHeads, kLength, kLength}, 2.1);
  const std::vector<std::int64_t> seen = {5, 3};
  const Tensor p = session.run(
      program, {{"q", tq}, {"k", tk}, {"bias", tb}, {"lengths", Tensor::of({kBatch}, seen)}})["p"];
  BOOST_REQUIRE((p.sizes() == Sizes{kBatch, kHeads, kLength, kLength}));
  for (std::int64_t row = 0; row < kBatch * kHeads * kLength; ++row) {
    const std::int64_t b = row / (kHeads * kLength), h = row / kLength % kHeads, i = row % kLength;
    std::vector<double> weight(kLength, 0);
    double total = 0;
    for (std::int64_t j = 0; j <= i && j < seen[static_cast<std::size_t>(b)]; ++j) {
      double score = tb.at((h * kLength + i) * kLength + j);
      for (std::int64_t f = 0; f < kSize; ++f)
        score += 0.7 * tq.at(row * kSize + f) *
                 tk.at(((b * kKvHeads + h / 2) * kLength + j) * kSize + f);
      total += weight[static_cast<std::size_t>(j)] = std::exp(score);
    }
    for (std::int64_t j = 0; j < kLength; ++j) {
      BOOST_TEST(std::abs(p.at(row * kLength + j) - weight[static_cast<std::size_t>(j)] / total) <
                 2e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(maps_with_soft_caps_sinks_and_chunks_times_the_values_are_the_outputs) {
  Graph g;
  const Value q = g.input("q", DType::f32, {1, 2, "seq", 3});
  const Value k = g.input("k", DType::f32, {1, 2, "seq", 3});
  const Value sinks = g.input("sinks", DType::f32, {2});
  const auto check = [&](const AttentionOptions& options) {
    const Value y = attention(q, k, k, options);
    Program program("p");
    program.output("y", y).output("map_y", matmul(attention_maps(y).at(0).probabilities, k));
    Session session(g, {.seed = 1});
    const Results results = session.run(program, {{"q", waves({1, 2, 7, 3}, 1.3)},
                                                  {"k", waves({1, 2, 7, 3}, 0.9)},
                                                  {"sinks", waves({2}, 2.0)}});
    for (std::int64_t i = 0; i < 7 * 6; ++i)
      BOOST_TEST(std::abs(results["y"].at(i) - results["map_y"].at(i)) < 1e-6);
  };
  check({.causal = true, .soft_cap = 0.5, .sinks = sinks});
  check({.causal = true, .sinks = sinks, .chunk = 3});
}

BOOST_AUTO_TEST_CASE(every_layer_has_an_attention_map_with_its_scope_name) {
  Graph g;
  const Scope net(g, "net");
  Value x = g.input("x", DType::f32, {"batch", "seq", 8});
  for (int i = 0; i < 3; ++i) {
    x = make_multi_head_attention(net / "layers" / i / "attention", DType::f32, 8, {.heads = 2})(x,
                                                                                                 x);
  }
  const std::vector<AttentionMap> maps = attention_maps(x);
  BOOST_REQUIRE(maps.size() == 3U);
  BOOST_TEST(maps[0].scope == "net.layers.0.attention");
  BOOST_TEST(maps[2].scope == "net.layers.2.attention");
  BOOST_TEST(maps[1].probabilities.shape().rank() == 4);
  BOOST_TEST(attention_maps(g.find_input("x")).empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
