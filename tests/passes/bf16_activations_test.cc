// Activations that are only read by products at medium precision are stored as bfloat16.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// A network with two layers and their gradients. Only two products read m.
struct Net {
  Graph graph;
  Variable up, down;
  Program train{"train"};

  explicit Net(std::optional<Precision> own = {}) {
    const Value x = graph.input("x", DType::f32, {"batch", 3, 40});
    const VariableOptions normal{.initializer = Initializer::normal(0.3)};
    up = graph.variable("up", DType::f32, {40, 72}, normal);
    down = graph.variable("down", DType::f32, {72, 40}, normal);
    const Value m = square(matmul(x, up, {.precision = own}));
    const Value y = matmul(m, down, {.precision = own});
    const Value loss = mean(square(y));
    train.output("loss", loss);
    const std::vector<Value> g = gradients(loss, {up.value(), down.value()});
    train.output("up", g[0]).output("down", g[1]);
  }
};

int narrow_operands(const Program& program, const PassOptions& options) {
  const Module module = run_passes(clone_program(program), options);
  int found = 0;
  for (const Node* node : module.program.nodes()) {
    if (!node->op().name.starts_with("matmul")) continue;
    for (const Value& v : node->inputs()) found += v.dtype() == DType::bf16;
  }
  return found;
}

BOOST_AUTO_TEST_SUITE(bf16_activations_pass)

BOOST_AUTO_TEST_CASE(activations_are_narrowed_only_at_medium_and_without_other_readers) {
  Net net;
  BOOST_TEST(narrow_operands(net.train, {}) == 0);
  BOOST_TEST(narrow_operands(net.train, {.precision = Precision::high}) == 0);
  // m is an operand of the product with `down` and of its gradient. The gradient of y is also read
  // by two products.
  BOOST_TEST(narrow_operands(net.train, {.precision = Precision::medium}) == 4);
  BOOST_TEST(narrow_operands(net.train, {.disabled = {"bf16_activations"},
                                         .precision = Precision::medium}) == 0);
  net.train.precision(Precision::medium);
  BOOST_TEST(narrow_operands(net.train, {}) == 4);
  // The precision of an individual product takes precedence.
  Net exact(Precision::highest);
  exact.train.precision(Precision::medium);
  BOOST_TEST(narrow_operands(exact.train, {}) == 0);
  // A program output must keep its values.
  Net seen;
  const Value m = square(matmul(seen.graph.find_input("x"), seen.up));
  seen.train.output("m", m);
  BOOST_TEST(narrow_operands(seen.train, {.precision = Precision::medium}) == 2);
}

BOOST_AUTO_TEST_CASE(results_have_the_error_of_medium_precision) {
  Net net;
  const NamedTensors feeds = {{"x", sample_uniform({5, 3, 40}, 3).to(DType::f32)}};
  const auto run = [&](Precision precision) {
    Session session(net.graph, {.seed = 4, .precision = precision});
    return session.run(net.train, feeds);
  };
  const Results exact = run(Precision::highest), rounded = run(Precision::medium);
  for (const char* name : {"loss", "up", "down"}) {
    const Tensor a = exact[name], b = rounded[name];
    double error = 0, size = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      error += std::pow(a.at(i) - b.at(i), 2);
      size += std::pow(a.at(i), 2);
    }
    BOOST_TEST(std::sqrt(error / size) < 0.02);
    BOOST_TEST(error > 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
