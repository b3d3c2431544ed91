// The cost of a sharded training step, computed from the execution plans.
#include "weft/models/program/limits/step_cost.h"

#include <boost/test/unit_test.hpp>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(step_cost)
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
  const NamedSizes inputs = {{"ids", {8}}, {"labels", {8}}};
  Graph whole_graph, g;
  const StepCost whole = cost_of_step(tied(whole_graph, 1), inputs, Precision::highest),
                 sharded = cost_of_step(tied(g, 4), inputs, Precision::highest);
  BOOST_TEST(whole.sum_bytes == 0);
  BOOST_TEST(sharded.parameter_bytes == kMiB + 256);
  BOOST_TEST(whole.parameter_bytes == sharded.parameter_bytes);
  BOOST_TEST(sharded.state_bytes >= 2 * sharded.parameter_bytes);
  // A few scalars are summed, too: the loss and the number of rows over which it is averaged.
  BOOST_TEST(sharded.sum_bytes >= sharded.parameter_bytes);
  BOOST_TEST(sharded.sum_bytes <= sharded.parameter_bytes + 64);
  BOOST_TEST(sharded.early_bytes == kMiB);
  BOOST_TEST(sharded.table_bytes == kMiB);
  BOOST_TEST(sharded.rows_bytes == 0);
  // AdamW performs more than 4 operations per parameter.
  BOOST_TEST(sharded.step_flops > 4096 * 64 * 4);
  // Both the parameter update and the gradient norm compute mean gradients from the sums.
  BOOST_TEST(sharded.shard_flops + sharded.step_flops - 2 * 4096 * 64 == whole.shard_flops,
             boost::test_tools::tolerance(1e-4));
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
    return cost_of_step(train, {{"x", {4, 512}}}, Precision::highest).arena_bytes;
  };
  // Clipping needs all eight gradients, each of 1 MiB, at the same time.
  BOOST_TEST(arena(1) > 8 * kMiB);
  BOOST_TEST(arena(4) < 3 * kMiB);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
