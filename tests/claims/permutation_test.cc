// Attention does not depend on the order of tokens, except through positions or a causal mask.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "random_tensor.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/feed_forward.h"
#include "weft/models/layers/norm.h"
#include "weft/tests/support/numbers.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(permutation)
namespace {

using testing::max_difference;

constexpr std::int64_t kBatch = 3, kTokens = 9, kWidth = 12;
const std::vector<std::int64_t> kOrder = {4, 0, 7, 2, 8, 1, 6, 3, 5};
constexpr double kSame = 1e-12, kOther = 1e-2;

/// Returns x with its tokens (axis 1) in the order kOrder.
Tensor permuted(const Tensor& x) {
  Tensor out = Tensor::empty(x.dtype(), x.sizes());
  const std::int64_t row = x.numel() / (x.size(0) * kTokens);
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t t = 0; t < kTokens; ++t) {
      for (std::int64_t i = 0; i < row; ++i) {
        out.mutable_data<double>()[(b * kTokens + t) * row + i] =
            x.at((b * kTokens + kOrder[static_cast<std::size_t>(t)]) * row + i);
      }
    }
  }
  return out;
}

/// The results of `model` for random tokens in two different orders.
struct TwoOrders {
  Tensor before, after;
};
TwoOrders run(const std::function<Value(const Scope&, Value)>& model) {
  Graph g;
  const Value x = g.input("x", DType::f64, {kBatch, kTokens, kWidth});
  const Program program = Program("model").output("y", model(Scope(g, "net"), x));
  Session session(g, {.seed = 4, .threads = 2});
  const Tensor tokens = random_tensor({kBatch, kTokens, kWidth}, 1);
  return {session.run(program, {{"x", tokens}})["y"],
          session.run(program, {{"x", permuted(tokens)}})["y"]};
}

/// Applies two transformer blocks.
Value blocks(const Scope& scope, Value x, bool causal) {
  for (int i = 0; i < 2; ++i) {
    const Scope block = scope / i;
    x = x + self_attention(block / "attention", layer_norm(block / "norm", x),
                           {.heads = 3, .causal = causal});
    x = x + make_feed_forward(block / "mlp", DType::f64, kWidth)(layer_norm(block / "norm_2", x));
  }
  return x;
}

BOOST_AUTO_TEST_CASE(self_attention_without_positions_is_permutation_equivariant) {
  const TwoOrders layer = run([](const Scope& net, Value x) {
    return self_attention(net, x, {.heads = 3, .causal = false});
  });
  BOOST_TEST(max_difference(permuted(layer.before), layer.after) < kSame);
  const TwoOrders transformer =
      run([](const Scope& net, Value x) { return blocks(net, x, false); });
  BOOST_TEST(max_difference(permuted(transformer.before), transformer.after) < kSame);
}

BOOST_AUTO_TEST_CASE(a_causal_mask_makes_attention_depend_on_order) {
  const TwoOrders found = run([](const Scope& net, Value x) { return blocks(net, x, true); });
  BOOST_TEST(max_difference(permuted(found.before), found.after) > kOther);
}

BOOST_AUTO_TEST_CASE(positions_make_attention_depend_on_order) {
  const TwoOrders added = run([](const Scope& net, Value x) {
    const PositionOptions far = {.initializer = Initializer::normal(1)};
    return blocks(net, x + learned_positions(net / "positions", x, far), false);
  });
  BOOST_TEST(max_difference(permuted(added.before), added.after) > kOther);
  const TwoOrders turned = run([](const Scope& net, Value x) {
    return self_attention(net, x, {.heads = 3, .causal = false, .rotary = 4});
  });
  BOOST_TEST(max_difference(permuted(turned.before), turned.after) > kOther);
  const TwoOrders biased = run([](const Scope& net, Value x) {
    return self_attention(net, x, {.heads = 3, .causal = false, .linear_bias = true});
  });
  BOOST_TEST(max_difference(permuted(biased.before), biased.after) > kOther);
}

BOOST_AUTO_TEST_CASE(a_pooled_encoder_without_positions_is_permutation_invariant) {
  for (const auto pool : {mean_of_tokens, max_of_tokens}) {
    const TwoOrders found = run([&](const Scope& net, Value x) {
      const Value mask = ones(x.graph(), DType::i64, Shape{x.size(0), kTokens});
      return pool(blocks(net, x, false), mask, SourceLocation::current());
    });
    BOOST_TEST(max_difference(found.before, found.after) < kSame);
  }
}

// Attention treats keys and values as a set, so their order has no effect.
BOOST_AUTO_TEST_CASE(cross_attention_is_invariant_to_the_order_of_the_memory) {
  const TwoOrders found = run([](const Scope& net, Value memory) {
    Graph& g = net.graph();
    const Value query = g.constant(random_tensor({kBatch, 1, 4, kWidth}, 2));
    const Value keys = unsqueeze(memory, 1);
    return attention(query, keys, keys * 2.0);
  });
  BOOST_TEST(max_difference(found.before, found.after) < kSame);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
