// Prepacked weights: equal bits, one copy per layout, included in memory statistics, and never
// stale.
#include <boost/test/unit_test.hpp>
#include <optional>
#include <set>
#include <thread>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// A network of two linear layers with one matrix in each layout. A third product uses the second
// matrix transposed.
struct FeedForward {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Variable up, down, bias;
  Program predict{"predict"}, learn{"learn"};

  explicit FeedForward(std::int64_t inputs = 70, std::int64_t inner = 300) {
    const VariableOptions normal{.initializer = Initializer::normal(0.5)};
    const Value x = graph.input("x", DType::f32, {"batch", "seq", inputs});
    up = graph.variable("up", DType::f32, {inputs, inner}, normal);
    down = graph.variable("down", DType::f32, {inputs, inner}, normal);
    bias = graph.variable("bias", DType::f32, {inner}, normal);
    const Value h = tanh(linear(x, up, bias, LinearLayout::in_out));
    const Value y = matmul(h, down, {.transpose_b = true});
    predict.output("y", y).output("z", matmul(y, down));
    learn.output("y", y).update(up, up.value() * 0.5);
    Session(graph, store, {.seed = 3}).initialise();
  }
};

NamedTensors feeds(std::int64_t batch, std::int64_t seq, std::int64_t inputs = 70) {
  return {{"x", sample_uniform({batch, seq, inputs}, static_cast<std::uint32_t>(batch * seq))}};
}

void check_same(const Results& a, const Results& b) {
  for (const char* name : {"y", "z"}) BOOST_TEST(bitwise_equal(a[name], b[name]));
}

BOOST_AUTO_TEST_SUITE(prepack)

BOOST_AUTO_TEST_CASE(prepacking_changes_no_bits_for_any_simd_target_shape_or_precision) {
  testing::for_each_simd_target([](const char*) {
    for (const auto& [inputs, inner] : {std::pair<int, int>{70, 300}, {1, 5}, {530, 33}}) {
      FeedForward net(inputs, inner);
      for (const Precision precision : {Precision::highest, Precision::high, Precision::medium}) {
        Session plain(net.graph, net.store, {.threads = 2, .precision = precision});
        Session packed(net.graph, net.store,
                       {.threads = 2,
                        .precision = precision,
                        .prepack = true,
                        .verify = true,
                        .poison = true});
        for (const std::int64_t seq : {0, 1, 20, 130}) {
          const NamedTensors x = feeds(2, seq, inputs);
          check_same(packed.run(net.predict, x), plain.run(net.predict, x));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(one_packed_copy_serves_all_shapes_and_sessions_and_is_counted) {
  // Use the same engine for all shapes. On a CPU with a matrix unit, only larger shapes would use
  // the unit, and each engine has its own copy.
  const kernels::ForcedBf16Unit forced(std::nullopt);
  FeedForward net;
  BOOST_TEST(net.store->bytes() == 4u * (2 * 70 * 300 + 300));
  Session packed(net.graph, net.store, {.prepack = true});
  packed.run(net.predict, feeds(2, 20));
  const std::size_t after = net.store->bytes();
  std::size_t copies = 0;
  for (const auto& entry : net.store->memory()) copies += entry.packed_bytes;
  BOOST_TEST(after == 4u * (2 * 70 * 300 + 300) + copies);
  // `down` has two layouts and `up` has one. Panels may be wider than the matrix.
  BOOST_TEST(copies >= 4u * 3 * 70 * 300);
  BOOST_TEST(copies < 4u * 3 * 80 * 400);
  const auto memory = packed.plan(net.predict, {{"x", Sizes{2, 20, 70}}})->memory();
  BOOST_TEST(memory.packed == copies);
  BOOST_TEST(memory.text().find("packed copies of weights") != std::string::npos);
  // Other shapes and other Sessions need no further copies. For a single row, nothing is packed.
  packed.run(net.predict, feeds(3, 50));
  Session other(net.graph, net.store, {.prepack = true});
  other.run(net.predict, feeds(1, 33));
  BOOST_TEST(net.store->bytes() == after);
  BOOST_TEST(other.plan(net.predict, {{"x", Sizes{1, 1, 70}}})->memory().packed == 0u);
  BOOST_TEST(
      Session(net.graph, net.store).plan(net.predict, {{"x", Sizes{2, 20, 70}}})->memory().packed ==
      0u);
}

BOOST_AUTO_TEST_CASE(a_weight_used_with_several_dtypes_has_a_copy_for_each) {
  // Run both with a single engine and with all engines of this machine.
  for (const auto& [dtype, one_engine] : {std::pair<DType, bool>{DType::bf16, true},
                                          {DType::f16, true},
                                          {DType::bf16, false},
                                          {DType::f16, false}}) {
    std::optional<kernels::ForcedBf16Unit> forced;
    if (one_engine) forced.emplace(std::nullopt);
    Graph g;
    const Value x = g.input("x", DType::f32, {20, 70}),
                wide = g.input("wide", DType::f64, {20, 70});
    const Value narrow = g.input("narrow", dtype, {20, 70});
    const Variable w = g.variable("w", dtype, {70, 300}, {.initializer = Initializer::normal(0.5)});
    const Program p = Program("p")
                          .output("y", matmul(x, w))
                          .output("wide", matmul(wide, w))
                          .output("narrow", matmul(narrow, w));
    const Tensor values = sample_uniform({20, 70}, 4);
    const NamedTensors feeds = {
        {"x", values}, {"wide", values.to(DType::f64)}, {"narrow", values.to(dtype)}};
    const auto store = std::make_shared<VariableStore>();
    for (const Precision precision : {Precision::highest, Precision::high, Precision::medium}) {
      Session plain(g, store, {.precision = precision});
      Session packed(g, store, {.precision = precision, .prepack = true});
      const Results expected = plain.run(p, feeds), got = packed.run(p, feeds);
      for (const char* name : {"y", "wide", "narrow"}) {
        BOOST_TEST(bitwise_equal(got[name], expected[name]), name);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(new_values_are_packed_again) {
  FeedForward net;
  Session packed(net.graph, net.store, {.prepack = true}), plain(net.graph, net.store);
  const NamedTensors x = feeds(2, 20);
  const Results before = packed.run(net.predict, x);
  const std::size_t bytes = net.store->bytes();
  // Programs do not use packed copies of variables that they update.
  packed.run(net.learn, x);
  const Results updated = packed.run(net.predict, x);
  BOOST_TEST(!bitwise_equal(updated["y"], before["y"]));
  check_same(updated, plain.run(net.predict, x));
  BOOST_TEST(net.store->bytes() == bytes);
  net.store->set("down", sample_uniform({70, 300}, 9));
  check_same(packed.run(net.predict, x), plain.run(net.predict, x));
  BOOST_TEST(net.store->bytes() == bytes);
}

BOOST_AUTO_TEST_CASE(sessions_on_several_threads_share_the_copies) {
  FeedForward net;
  const NamedTensors x = feeds(2, 20);
  const Tensor expected = Session(net.graph, net.store).run(net.predict, x)["z"];
  std::vector<std::thread> threads;
  std::vector<Tensor> results(4);
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      Session session(net.graph, net.store, {.threads = 1, .prepack = true});
      results[t] = session.run(net.predict, x)["z"];
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) BOOST_TEST(bitwise_equal(result, expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
