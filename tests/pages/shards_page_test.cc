// Code blocks in docs/distributed-training.md.
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/distributed/parts_text.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/sharded_checkpoint.h"
#include "weft/testing/temporary_folder.h"

namespace {

using namespace weft;

constexpr int kShards = 8, kBatch = 32;

Value classifier(const Scope& net, Value images) {
  return linear(net / "head", tanh(linear(net / "in", images, 16)), 4);
}

NamedTensors rows(std::uint64_t seed, std::int64_t count) {
  return {{"images", normal_tensor({count, 6}, seed)},
          {"labels", integer_tensor({count}, seed, 0, 4, DType::i32)}};
}
NamedTensors batch(int step) { return rows(static_cast<std::uint64_t>(step), kBatch); }
NamedTensors rows_of_shard(int step, int shard) {
  return rows(static_cast<std::uint64_t>(100 + kShards * step + shard), kBatch / kShards);
}

Tensor trained(const World& world) {
  Graph g;
  const Scope net(g, "net");
  const Value images = g.input("images", DType::f32, {"batch", 6});
  const Value labels = g.input("labels", DType::i32, {"batch"});
  const Value logits = classifier(net.training(), images);
  const Value loss = cross_entropy(logits, labels, {.reduction = Reduction::shard_mean});
  const Program train = Program("train")
                            .output("loss", loss)
                            .shards({.count = 8})
                            .update(adamw(loss, net.parameters(), {.step = {.clip_norm = 1}}));
  Session session(g, {.seed = 1, .world = world});
  for (int step = 0; step < 3; ++step) session.run(train, batch(step));
  for (int step = 3; step < 5; ++step) {
    session.run_shards(train, [&](int shard) { return rows_of_shard(step, shard); });
  }
  return session.value("net.head.weight");
}

BOOST_AUTO_TEST_SUITE(shards_page)

BOOST_AUTO_TEST_CASE(ranks_match_a_single_process_bit_for_bit) {
  const Tensor alone = trained(World());
  ThreadWorld threads(3, {.seed = 1});  // three ranks, with random message delays
  threads.run([&](const std::shared_ptr<Transport>& end) {
    const Tensor here = trained(World(end));
    if (!bitwise_equal(here, alone)) throw StateError("not bit-identical");
  });
}

BOOST_AUTO_TEST_CASE(all_ranks_save_one_checkpoint_together) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "net.weft";
  ThreadWorld threads(3);
  threads.run([&](const std::shared_ptr<Transport>& end) {
    Graph g;
    const Scope net(g, "net");
    const Value images = g.input("images", DType::f32, {"batch", 6});
    const Value labels = g.input("labels", DType::i32, {"batch"});
    const Value logits = classifier(net, images);
    const Value loss = cross_entropy(logits, labels, {.reduction = Reduction::shard_mean});
    Program train("train");
    train.output("loss", loss).shards({.count = 8}).update(adamw(loss, net.parameters()));
    Session session(g, {.seed = 1, .world = World(end)});
    session.run(train, batch(0));
    save_checkpoint_in_shards(path, session, {train});
  });
  BOOST_TEST(load_checkpoint(path).tensors().size() > 4u);
}

BOOST_AUTO_TEST_CASE(the_rows_of_all_shards_form_one_output) {
  Graph g;
  const Value images = g.input("images", DType::f32, {"batch", 6});
  const Value logits = classifier(Scope(g, "net"), images);
  const Program evaluate =
      Program("evaluate").output("logits", shard_concat(logits)).shards({.count = 8});
  Session session(g, {.seed = 1});
  BOOST_TEST(session.run(evaluate, {rows(0, kBatch)[0]})["logits"].sizes() == (Sizes{kBatch, 4}));
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_step_can_be_printed) {
  Graph g;
  const Scope net(g, "net");
  const Value images = g.input("images", DType::f32, {"batch", 6});
  const Value labels = g.input("labels", DType::i32, {"batch"});
  const Value loss =
      cross_entropy(classifier(net, images), labels, {.reduction = Reduction::shard_mean});
  const Program train = Program("train").shards({.count = 8}).update(adamw(loss, net.parameters()));
  const std::string text = parts_text(train, {.ranks = 4});
  BOOST_TEST(text.find("rank 0 of 4 computes 0 to 1") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(a_layer_can_be_split_across_ranks) {
  ThreadWorld threads(2);
  threads.run([&](const std::shared_ptr<Transport>& end) {
    const World world(end);
    Graph g;
    const Value images = g.input("images", DType::f32, {"batch", 6});
    const int ranks = world.size();
    const Variable columns = g.variable("columns", DType::f32, {6, 8 / ranks});
    const Variable rows = g.variable("rows", DType::f32, {8 / ranks, 3});
    // Each rank holds a slice of the hidden units; the partial products are summed over all ranks.
    const Value y = all_reduce(matmul(tanh(matmul(images, columns)), rows), ranks);
    // Every rank computes the whole loss, so each one differentiates its share of it.
    const Value loss = mean(square(y));
    const TrainingStep step = sgd(loss / ranks, {columns, rows}, {.lr = 0.1});
    const Program train = Program("train").output("loss", loss).update(step);
    Session session(g, {.world = world});
    const float first = session.run(train, {batch(0)[0]})["loss"].item<float>();
    if (!(session.run(train, {batch(0)[0]})["loss"].item<float>() <= first))
      throw StateError("the loss increased");
  });
}

BOOST_AUTO_TEST_CASE(ranks_can_exchange_values) {
  ThreadWorld threads(2);
  threads.run([&](const std::shared_ptr<Transport>& end) {
    const World world(end);
    Graph g;
    const Value x = g.input("x", DType::f32, {2});
    const Program program = Program("talk")
                                .output("sum", all_reduce(x, world.size()))
                                .output("all", all_gather(x, world.size()))
                                .output("before", send_recv(x, world.size(), {{0, 1}}));
    Session session(g, {.world = world});
    const Tensor own = Tensor::full(DType::f32, {2}, world.rank() + 1);
    const Results results = session.run(program, {{"x", own}});
    if (results["sum"].at(1) != 3 || results["all"].at(3) != 2 ||
        results["before"].at(0) != world.rank())
      throw StateError("a collective returned wrong values");
  });
}

BOOST_AUTO_TEST_CASE(custom_losses_can_be_computed_in_shards) {
  Graph g;
  const Value error = g.input("error", DType::f32, {"batch"});
  const Value weight = g.input("weight", DType::f32, {"batch"});
  const Value loss = shard_mean(sum(weight * square(error)), sum(weight));
  const Program program = Program("p").output("loss", loss).shards({.count = 4});
  const Results results =
      Session(g).run(program, {{"error", Tensor::of<float>({4}, {1, 2, 3, 4})},
                               {"weight", Tensor::of<float>({4}, {1, 0, 0, 1})}});
  BOOST_TEST(results["loss"].item<float>() == 8.5f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
