// Saving while other threads train, compile and save. A file is a consistent snapshot, and graphs
// do not change.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "weft/graph/functions.h"
#include "weft/graph/plan/compile.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/serialization/file_bytes.h"

namespace weft {
namespace {

// Many counters. Every step increments each of them by 1.
struct Counters {
  Graph graph;
  Program step{"step"};
  explicit Counters(int count) {
    for (int i = 0; i < count; ++i) {
      const Variable v = graph.variable("c" + std::to_string(i), DType::f32, {64});
      step.update(v, v.value() + 1.0);
    }
  }
};

BOOST_AUTO_TEST_SUITE(concurrent_save)

BOOST_AUTO_TEST_CASE(a_saved_store_is_a_consistent_snapshot) {
  const testing::TemporaryFolder folder;
  Counters net(200);
  const auto store = std::make_shared<VariableStore>();
  Session(net.graph, store).initialise();
  std::atomic<bool> done{false};
  std::thread trainer([&] {
    Session session(net.graph, store, {.threads = 1});
    while (!done) session.run(net.step);
  });
  int mixed = 0;
  for (int i = 0; i < 30; ++i) {
    const std::string path = folder / "counters.weft";
    if (i % 2 == 0) {
      save_checkpoint(path, *store, {net.step});
    } else {
      Session reader(net.graph, store, {.threads = 1});
      save_checkpoint(path, reader, {net.step});
    }
    const Checkpoint file = load_checkpoint(path);
    const double first = file.tensors().at("c0").at(0);
    for (const auto& [name, tensor] : file.tensors()) {
      if (tensor.at(63) != first) ++mixed;
    }
  }
  done = true;
  trainer.join();
  BOOST_TEST(mixed == 0);
}

BOOST_AUTO_TEST_CASE(inspecting_a_program_does_not_change_its_graph) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  const Program p = Program("p").output("y", dropout(x, 0.5, g.key("dropout")));
  const std::size_t nodes = g.node_count();
  BOOST_TEST(p.updates().size() == 1u);
  BOOST_TEST(p.roots().size() == 2u);
  p.nodes(), p.inputs(), p.variables();
  compile(p, {});
  BOOST_TEST(g.node_count() == nodes);
}

// For ThreadSanitizer: in each round, all threads access a new graph at the same time.
BOOST_AUTO_TEST_CASE(threads_can_compile_and_save_one_graph_concurrently) {
  const testing::TemporaryFolder folder;
  for (int round = 0; round < 10; ++round) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"n"});
    const Variable w = g.variable("w", DType::f32, {1}, {.initializer = Initializer::ones()});
    const Program p = Program("p").output("y", dropout(x * w.value(), 0.5, g.key("dropout")));
    const auto store = std::make_shared<VariableStore>();
    Session(g, store).initialise();
    std::vector<Tensor> results(3);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < results.size(); ++t) {
      threads.emplace_back([&, t] {
        Session session(g, store, {.seed = 1, .threads = 1, .own_keys = true});
        results[t] = session.run(p, {{"x", Tensor::full(DType::f32, {100}, 1)}})["y"];
      });
    }
    threads.emplace_back([&] { save_checkpoint(folder / "p.weft", *store, {p}); });
    for (std::thread& thread : threads) thread.join();
    for (const Tensor& result : results) BOOST_TEST(bitwise_equal(result, results[0]));
    BOOST_TEST(load_checkpoint(folder / "p.weft").program("p").updates().size() == 1u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
