// Code blocks in docs/sessions.md, docs/debugging.md and docs/memory-and-speed.md.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/engine/trace.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/reference.h"
#include "weft/testing/temporary_folder.h"

namespace {

using namespace weft;

/// A small network with a training step. Its `predict` program is saved as "net.weft".
struct ServedNet {
  Graph g;
  Scope net = Scope(g, "net");
  Value x = g.input("x", DType::f32, {"batch", 16});
  Value y = linear(net / "out", hidden(x), 4);
  Value loss = mean(square(y));
  Program train = Program("train").output("loss", loss).update(adamw(loss, g.parameters()));
  Program predict = Program("predict").output("y", y);
  testing::TemporaryFolder folder;
  std::string path = folder.path("net.weft");

  Value hidden(Value h) const {
    h = linear(net / "in", h, 64);
    for (int i = 0; i < 4; ++i)
      h = h + linear(net / i / "out", gelu(linear(net / i / "in", h, 256)), 64);
    return h;
  }
  ServedNet() {
    Session session(g, {.seed = 1});
    save_checkpoint(path, session, {predict});
  }
};

BOOST_FIXTURE_TEST_SUITE(run_page, ServedNet)

BOOST_AUTO_TEST_CASE(many_threads_serve_one_copy_of_the_weights) {
  const Tensor request = normal_tensor({1, 16}, 1);
  const Checkpoint file = load_checkpoint(path);  // weights are views of the mapped file
  const std::shared_ptr<VariableStore> store = file.store();
  const Program& program = file.program("predict");

  std::atomic<int> answered = 0;
  const auto serve = [&] {
    Session own(file.graph(), store, {.threads = 1, .prepack = true});  // one per thread
    for (int i = 0; i < 100; ++i) {
      const Tensor answer = own.run(program, {{"x", request}})["y"];
      answered += answer.defined();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(serve);
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(answered == 400);
}

BOOST_AUTO_TEST_CASE(a_store_may_have_one_writer_and_several_readers) {
  const auto store = std::make_shared<VariableStore>();
  Session trainer(g, store, {.seed = 1});
  Session reader(g, store, {.threads = 1});
  const Tensor batch = normal_tensor({8, 16}, 1);
  std::thread training([&] {
    for (int step = 0; step < 20; ++step) trainer.run(train, {{"x", batch}});
  });
  for (int i = 0; i < 20; ++i) reader.run(predict, {{"x", batch}});  // weights between two steps
  training.join();
  BOOST_TEST(store->version("net.out.weight") == 20u);
}

BOOST_AUTO_TEST_CASE(a_run_can_be_cancelled_or_write_into_caller_memory) {
  Session session(g, {.seed = 1});
  const Tensor batch = normal_tensor({8, 16}, 1);
  std::atomic<bool> stop = true;
  const auto cancel = [&] { return stop.load(); };  // a flag that another thread sets
  try {
    session.run(train, {{"x", batch}}, {.cancel = cancel});
  } catch (const CancelledError&) {
    std::printf("cancelled: all variables are unchanged\n");
  }

  BOOST_CHECK_THROW(session.run(train, {{"x", batch}}, {.cancel = cancel}), CancelledError);

  std::vector<float> memory(8 * 4);
  const Tensor mine = Tensor::over(memory, {8, 4});
  session.run(predict, {{"x", batch}}, {.into = {{"y", mine}}});  // no copy, no allocation
  BOOST_TEST(memory[5] != 0.0f);

  double first = 0;
  const auto store_first = [&](const std::string&, const Tensor& y) { first = y.data<float>()[0]; };
  session.run(predict, {{"x", batch}}, {.on_output = store_first, .streamed = {"y"}});
  BOOST_TEST(first == memory[0]);
}

BOOST_AUTO_TEST_CASE(cost_and_memory_are_known_before_a_run) {
  Session session(g, {.seed = 1});
  const auto plan = session.plan(train, {{"x", {256, 16}}});  // runs nothing
  std::printf("%s\n%s\n", plan->memory().text(5).c_str(), plan->cost().text(5).c_str());
  const std::size_t arena = plan->arena_bytes;

  Session small(g, {.seed = 1, .memory_budget = arena * 9 / 10});  // the same bits in less memory
  const MemoryReport report = small.plan(train, {{"x", {256, 16}}})->memory();
  std::printf("%zu bytes instead of %zu, %.0f FLOPs more\n", report.arena, arena,
              report.recomputed_flops);
  BOOST_TEST(report.arena <= arena * 9 / 10);
}

BOOST_AUTO_TEST_CASE(runs_can_be_profiled) {
  Session session(g, {.seed = 1, .profile = true});
  session.run(train, {{"x", normal_tensor({64, 16}, 1)}});
  std::printf("%s", session.profile().table(5).c_str());

  Trace trace({.first = 2, .last = 3});  // the second and the third run
  Session traced(g, {.seed = 1, .trace = &trace});
  for (int i = 0; i < 4; ++i) traced.run(train, {{"x", normal_tensor({64, 16}, 1)}});
  const std::string timeline = trace.json();  // for ui.perfetto.dev
  BOOST_TEST(timeline.size() > 100u);
}

BOOST_AUTO_TEST_CASE(weights_can_be_quantised_and_products_run_at_lower_precision) {
  const Checkpoint file = load_checkpoint(path);
  const QuantizedModel small =
      quantize({file.program("predict")}, *file.store(), {.weights = WeightFormat::int8});
  Session narrow(*small.graph, small.store);
  const Tensor request = normal_tensor({1, 16}, 1);
  const Tensor y8 = narrow.run(small.programs[0], {{"x", request}})["y"];
  Program fast = predict;
  fast.precision(Precision::medium);  // bfloat16 operands, float32 sums
  BOOST_TEST(y8.defined());
  BOOST_TEST(small.weights.size() == 10u);
}

BOOST_AUTO_TEST_CASE(a_nan_can_be_traced_to_its_node) {
  const Value wrong = log(y - 1e9);
  const Program program = Program("wrong").output("wrong", wrong);
  const Tensor batch = normal_tensor({2, 16}, 1);
  Session session(g, {.seed = 1, .check_finite = true});
  try {
    session.run(program, {{"x", batch}});
  } catch (const DataError& e) {
    std::printf("%s\n", e.what());  // op, index, ranges of the operands, scope, your line
  }
  BOOST_CHECK_EXCEPTION(session.run(program, {{"x", batch}}), DataError, [](const DataError& e) {
    return std::string(e.what()).find("log: out f32[2, 4] has 8 NaN") != std::string::npos;
  });

  Session strict(g, {.seed = 1, .verify = true, .poison = true});  // verified plans, guard regions
  strict.run(train, {{"x", batch}});

  const testing::Outcome same = testing::check_reference(g, predict, {.feeds = {{"x", batch}}});
  if (!same) std::printf("%s\n", same.message().c_str());  // the first node that differs
  BOOST_TEST(same);

  const std::string text = to_text(program, {.source_locations = true});  // each node with its line
  const std::string drawing = to_dot(program);                            // for Graphviz
  BOOST_TEST(text.find("run_page_test.cc") != std::string::npos);
  BOOST_TEST(drawing.find("digraph") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
