// The memory and traffic of a sharded training step, computed from the plan of a shard.
#include "weft/models/program/limits/step_memory.h"

#include <boost/test/unit_test.hpp>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(memory_of_steps)
namespace {

constexpr double kMiB = 1 << 20;

// Returns a training program with a tied 1 MiB table, which is used both for the embedding and for
// the matrix product that computes the logits.
Program tied(Graph& g, int shards) {
  const Value ids = g.input("ids", DType::i32, {"batch"}),
              labels = g.input("labels", DType::i32, {"batch"});
  const Variable table = g.variable("table", DType::f32, {4096, 64});
  const Variable scale = g.variable("scale", DType::f32, {64});
  const Value logits = matmul(take(table, ids) * scale, table, {.transpose_b = true});
  const Reduction over = shards > 1 ? Reduction::shard_mean : Reduction::mean;
  const Value loss = cross_entropy(logits, labels, {.reduction = over});
  return Program("train")
      .output("loss", loss)
      .shards({.count = shards})
      .update(adamw(loss, {table, scale}, {.step = {.clip_norm = 1}}));
}

BOOST_AUTO_TEST_CASE(gradients_are_counted_as_sums_and_not_as_working_memory) {
  const auto memory = [](int shards, int ranks) {
    Graph g;
    const Program train = tied(g, shards);
    const auto plan = Session(g, {.threads = 1}).plan(train, {{"ids", {8}}, {"labels", {8}}});
    return step_memory(train, *plan, ranks);
  };
  const StepMemory whole = memory(1, 1), one = memory(4, 1), two = memory(4, 2);
  const double parameters = kMiB + 256;
  BOOST_TEST(whole.sums == 0);
  BOOST_TEST(whole.sent == 0);
  BOOST_TEST(one.variables == whole.variables);
  BOOST_TEST(one.optimizer >= 2 * parameters);
  BOOST_TEST(two.optimizer == one.optimizer / 2);
  BOOST_TEST(two.variables == one.variables - two.optimizer);
  // A few scalars are summed, too: the loss and the number of rows over which it is averaged.
  BOOST_TEST(one.outputs >= parameters);
  BOOST_TEST(one.outputs <= parameters + 64);
  BOOST_TEST(one.sums == 2 * one.outputs);
  BOOST_TEST(one.sent == 0);
  // Each rank sends half of the sums and half of the parameters.
  BOOST_TEST(two.sent == two.outputs);
  // A rank holds its updated parameters until all ranks have received them.
  BOOST_TEST(two.working == one.working + two.outputs / 2);
}

BOOST_AUTO_TEST_CASE(a_shard_holds_only_a_few_gradients_at_a_time) {
  const auto arena = [](int shards) {
    Graph g;
    Value h = g.input("x", DType::f32, {"batch", 512});
    std::vector<Variable> layers;
    for (int i = 0; i < 8; ++i) {
      layers.push_back(g.variable("w" + std::to_string(i), DType::f32, {512, 512}));
      h = tanh(matmul(h, layers.back()));
    }
    const Value loss = shards > 1 ? shard_mean(mean(square(h))) : mean(square(h));
    const Program train = Program("train")
                              .output("loss", loss)
                              .shards({.count = shards})
                              .update(adamw(loss, layers, {.step = {.clip_norm = 1}}));
    const auto plan = Session(g, {.threads = 1}).plan(train, {{"x", {4, 512}}});
    return step_memory(train, *plan, 1).working;
  };
  // Clipping needs all eight gradients, each of 1 MiB, at the same time.
  BOOST_TEST(arena(1) > 8 * kMiB);
  BOOST_TEST(arena(4) < 3 * kMiB);
}

BOOST_AUTO_TEST_CASE(sum_memory_includes_tree_levels_and_received_sums) {
  const auto sums = [](int ranks, int shards) { return sums_of_rank(1, ranks, shards); };
  BOOST_TEST(sums(1, 1) == 1);
  BOOST_TEST(sums(1, 2) == 1);
  BOOST_TEST(sums(1, 8) == 3);
  BOOST_TEST(sums(2, 2) == 1 + 0.5);
  BOOST_TEST(sums(2, 8) == 2 + 0.5);
  // The ranks have two, three and three shards, which form one, two and two subtrees.
  BOOST_TEST(sums(3, 8) == 2 + 4.0 / 3, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(owned_sums_include_the_owned_part_and_buckets_in_transfer) {
  // There are 1000 bytes of sums in buckets of 10 bytes.
  const auto sums = [](int ranks, int shards) {
    return owned_sums_of_rank(1000, 10, ranks, shards);
  };
  BOOST_TEST(sums(2, 2) == 500 + 90 + 45);
  BOOST_TEST(sums(4, 4) == 250 + 90 + 67.5);
  BOOST_TEST(sums(4, 32) == 3 * 250 + 90 + 67.5);
}

BOOST_AUTO_TEST_CASE(shards_that_are_not_a_subtree_are_sent_in_parts) {
  Graph g;
  const Program train = tied(g, 8);
  const auto plan = Session(g, {.threads = 1}).plan(train, {{"ids", {8}}, {"labels", {8}}});
  const StepMemory three = step_memory(train, *plan, 3), four = step_memory(train, *plan, 4),
                   owned = step_memory(train, *plan, 4, {.gradients = GradientSums::owned});
  // Eight shards on three ranks: shards 0 and 1 form one subtree, shards 2 to 4 form two, and
  // shards 5 to 7 form two.
  BOOST_TEST(three.sent == three.outputs / 3 * (2 * 2 + 2), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(four.sent == four.outputs * 0.75 * 2, boost::test_tools::tolerance(1e-12));
  // Owned sums are sent once per shard of a rank.
  BOOST_TEST(owned.sent == four.outputs * 0.75 * 3, boost::test_tools::tolerance(1e-12));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
