// Invariances of softmax, norms, rotary positions and residual streams.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "random_tensor.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/numbers.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(invariance)
namespace {

using testing::max_difference;

Results run(Graph& g, const Program& program) {
  Session session(g, {.seed = 1, .threads = 2});
  return session.run(program);
}

// Multiples of 1/64 below 8 plus integers below 2^16 are exact in f32, so the outputs must be equal
// bit for bit.
BOOST_AUTO_TEST_CASE(softmax_is_invariant_to_a_constant_added_to_its_inputs) {
  Graph g;
  Tensor x = random_tensor({5, 33}, 1, DType::f32), shift = Tensor::empty(DType::f32, {5, 1});
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.mutable_data<float>()[i] = std::clamp(std::round(x.data<float>()[i] * 64) / 64, -8.0f, 8.0f);
  const float shifts[] = {1, -37, 4096, -65535, 50001};
  std::copy(std::begin(shifts), std::end(shifts), shift.mutable_data<float>());
  const Value logits = g.constant(x), moved = logits + g.constant(shift);
  const Results found = run(g, Program("p")
                                   .output("p", softmax(logits))
                                   .output("p moved", softmax(moved))
                                   .output("log p", log_softmax(logits))
                                   .output("log p moved", log_softmax(moved)));
  BOOST_TEST(max_difference(found["p"], found["p moved"]) == 0);
  BOOST_TEST(max_difference(found["log p"], found["log p moved"]) < 1e-6);
}

// The same property to first order: gradients through softmax are orthogonal to (1, ..., 1).
BOOST_AUTO_TEST_CASE(gradients_through_softmax_sum_to_zero) {
  Graph g;
  const Value x = g.constant(random_tensor({4, 9}, 1)), r = g.constant(random_tensor({4, 9}, 2));
  const Value by_x = gradient(sum(softmax(x) * r), x);
  const Results found = run(g, Program("p").output("sum", sum(by_x, 1)).output("gradient", by_x));
  for (std::int64_t i = 0; i < 4; ++i) BOOST_TEST(std::abs(found["sum"].at(i)) < 1e-15);
  BOOST_TEST(found["gradient"].at(0) != 0);
}

BOOST_AUTO_TEST_CASE(attention_is_invariant_to_a_constant_added_to_the_scores_of_a_query) {
  Graph g;
  const auto heads = [&](std::uint64_t seed) {
    return g.constant(random_tensor({2, 3, 6, 4}, seed));
  };
  const Value q = heads(1), k = heads(2), v = heads(3);
  const Value bias = g.constant(random_tensor({2, 3, 6, 1}, 4)) * 20.0;
  // Adding one vector to all keys is equivalent to adding a constant to all scores of a query.
  const Value moved = k + g.constant(random_tensor({2, 3, 1, 4}, 5));
  const Results found = run(g, Program("p")
                                   .output("plain", attention(q, k, v))
                                   .output("biased", attention(q, k, v, {.bias = bias}))
                                   .output("moved", attention(q, moved, v)));
  BOOST_TEST(max_difference(found["plain"], found["biased"]) < 1e-13);
  BOOST_TEST(max_difference(found["plain"], found["moved"]) < 1e-13);
}

BOOST_AUTO_TEST_CASE(attention_is_a_weighted_mean_of_the_values) {
  Graph g;
  const auto heads = [&](std::uint64_t seed) {
    return g.constant(random_tensor({2, 3, 6, 4}, seed));
  };
  const Value v = heads(3), out = attention(heads(1), heads(2), v);
  const Value same = broadcast_to(g.constant(random_tensor({2, 3, 1, 4}, 4)), v.shape());
  const Results found = run(g, Program("p")
                                   .output("below", min(out - min(v, 2, true)))
                                   .output("above", min(max(v, 2, true) - out))
                                   .output("of equals", attention(heads(1), heads(2), same))
                                   .output("equals", same));
  BOOST_TEST(found["below"].at(0) > 0);
  BOOST_TEST(found["above"].at(0) > 0);
  BOOST_TEST(max_difference(found["of equals"], found["equals"]) < 1e-14);
}

BOOST_AUTO_TEST_CASE(norms_are_invariant_to_scale_and_layer_norm_also_to_the_mean) {
  Graph g;
  const Value x = g.constant(random_tensor({5, 16}, 1));
  const Value scale = g.constant(Tensor::of<double>({5, 1}, {0.25, 2, 3, 17, 1000}));
  const Value shift = g.constant(random_tensor({5, 1}, 2));
  const LayerNormOptions exact = {.eps = 0};
  const Results found =
      run(g, Program("p")
                 .output("layer", layer_norm(x, {}, {}, exact))
                 .output("layer moved", layer_norm(x * scale + shift, {}, {}, exact))
                 .output("rms", rms_norm(x, {}, 0))
                 .output("rms scaled", rms_norm(x * scale, {}, 0))
                 .output("rms moved", rms_norm(x + shift, {}, 0)));
  BOOST_TEST(max_difference(found["layer"], found["layer moved"]) < 1e-12);
  BOOST_TEST(max_difference(found["rms"], found["rms scaled"]) < 1e-12);
  BOOST_TEST(max_difference(found["rms"], found["rms moved"]) > 1e-2);
}

BOOST_AUTO_TEST_CASE(scores_with_rotary_positions_depend_only_on_distances) {
  Graph g;
  const Value q = g.constant(random_tensor({1, 2, 6, 8}, 1)),
              k = g.constant(random_tensor({1, 2, 6, 8}, 2));
  const auto scores = [&](double from) {
    const Value positions = arange(g, Dim(6)) + static_cast<std::int64_t>(from);
    return matmul(rope(q, positions), rope(k, positions), {.transpose_b = true});
  };
  const Results found = run(g, Program("p")
                                   .output("from 0", scores(0))
                                   .output("from 777", scores(777))
                                   .output("unturned", matmul(q, k, {.transpose_b = true})));
  BOOST_TEST(max_difference(found["from 0"], found["from 777"]) < 1e-11);
  BOOST_TEST(max_difference(found["from 0"], found["unturned"]) > 1e-2);
}

// A block adds its results to the residual stream. If it adds zeros, the stream and its gradients
// do not change by a single bit.
BOOST_AUTO_TEST_CASE(blocks_that_add_zeros_are_the_identity) {
  for (const Variant& variant : variants()) {
    // With post_norm, the norms are part of the stream.
    if (variant.config.residual == GptResidual::post_norm) continue;
    BOOST_TEST_CONTEXT(variant.name) {
      GptConfig config = variant.config;
      config.layers = 4;
      Graph g;
      const Gpt model(Scope(g), config);
      const Value ids = g.input("ids", DType::i64, {1, 5});
      const std::vector<Value> hidden = model({.ids = ids}).hidden;
      const Value start = hidden.front(), end = hidden[hidden.size() - 2];
      const Value r = g.constant(random_tensor({1, 5, config.width}, 1, DType::f32));
      const Program program = Program("p")
                                  .output("start", start)
                                  .output("end", end)
                                  .output("r", r)
                                  .output("gradient", gradient(sum(end * r), start));
      Session session(g, {.seed = 3, .threads = 2});
      session.initialise();
      const Tensor text = Tensor::of<std::int64_t>({1, 5}, {4, 9, 2, 11, 7});
      const auto difference = [&](const char* a, const char* b) {
        const Results found = session.run(program, {{"ids", text}});
        return max_difference(found[a], found[b]);
      };
      BOOST_TEST(difference("start", "end") > 1e-2);
      for (const Variable& v : g.parameters()) {
        const auto has = [&](const char* part) { return v.name().find(part) != std::string::npos; };
        if (!has(".c_proj.") && !has(".experts.down")) continue;
        session.set_value(v.name(), Tensor::zeros(v.dtype(), v.shape().constant()));
      }
      BOOST_TEST(difference("start", "end") == 0);
      BOOST_TEST(difference("gradient", "r") == 0);
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
