// Gradients of an embedding table that is also used by the output layer, and of one that is not.
#include <boost/test/unit_test.hpp>

#include <cstddef>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/linear.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/shards/on_ranks.h"
#include "weft/tests/shards/same_bits.h"

namespace weft::testing::tables {
namespace {

constexpr int kShards = 8;
constexpr std::size_t kBucket = std::size_t{1} << 14;

// Predicts a word from other words with two tables, one of which is also used by the output layer.
struct Network {
  Graph g;
  Value words = g.input("words", DType::i32, {"batch", 3});
  Value next = g.input("next", DType::i32, {"batch"});
  Program train{"train"};

  Network() {
    constexpr std::int64_t kWords = 5000, kWidth = 64;
    const Scope net(g, "net");
    const auto table_of = [&](const char* name) {
      return (net / name)
          .variable("weight", DType::f32, {kWords, kWidth},
                    {.initializer = Initializer::normal(0, 0.3)})
          .value();
    };
    const Value table = table_of("table"), other = table_of("other");
    const Value both = take(table, words) + take(other, words);
    const Value h = tanh(linear(net / "in", mean(both, 1), kWidth));
    const Value loss = cross_entropy(matmul(h, table, {.transpose_b = true}), next,
                                     {.reduction = Reduction::shard_mean});
    train.output("loss", loss)
        .update(adamw(loss, g.parameters(), {.lr = 0.01, .step = {.clip_norm = 0.5}}))
        .shards({.count = kShards});
  }
  static NamedTensors batch(int step) {
    const auto seed = static_cast<std::uint64_t>(step);
    return {{"words", integer_tensor({16, 3}, seed, 0, 5000, DType::i32)},
            {"next", integer_tensor({16}, seed + 50, 0, 5000, DType::i32)}};
  }
};

NamedTensors after_steps(SessionOptions options) {
  Network network;
  options.seed = 11;
  options.bucket_bytes = kBucket;
  Session session(network.g, options);
  NamedTensors result;
  for (int step = 0; step < 3; ++step) {
    const Results results = session.run(network.train, Network::batch(step));
    result.emplace_back("loss", results["loss"].clone());
  }
  session.gather_state();
  for (const Variable& v : network.train.variables())
    result.emplace_back(v.name(), session.value(v.name()));
  return result;
}

BOOST_AUTO_TEST_SUITE(tables)

BOOST_AUTO_TEST_CASE(any_number_of_ranks_matches_one_rank_bit_for_bit) {
  const NamedTensors expected = after_steps({.threads = 1});
  for (const auto& [ranks, per_host] : {std::pair(2, 1), {3, 1}, {5, 1}, {8, 1}, {4, 2}, {7, 3}}) {
    BOOST_TEST_CONTEXT(ranks << " ranks, " << per_host << " on a host") {
      const auto on_rank = [](const World& world) {
        return after_steps(
            {.threads = 1 + world.rank() % 2, .world = world, .overlap = world.rank() != 1});
      };
      for (const NamedTensors& of_rank : on_ranks(ranks, on_rank, per_host))
        check_same(of_rank, expected);
      if (ranks % 2 == 1) continue;
      const auto owned = [](const World& world) {
        return after_steps({.threads = 1, .world = world, .gradients = GradientSums::owned});
      };
      for (const NamedTensors& of_rank : on_ranks(ranks, owned, per_host))
        check_same(of_rank, expected);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing::tables
