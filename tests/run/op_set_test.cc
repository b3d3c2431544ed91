// Graphs that use only some op families.
#include <boost/test/unit_test.hpp>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/builtin.h"
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;

std::vector<OpSample> no_samples() { return {}; }

BOOST_AUTO_TEST_SUITE(op_sets)

BOOST_AUTO_TEST_CASE(a_graph_needs_only_the_op_families_that_it_uses) {
  const auto ops = op_set<LeafOps, MatmulOps, BinaryOps, UnaryOps, ShapeOps>();
  BOOST_TEST(ops->find("matmul") != nullptr);
  BOOST_TEST(ops->find("constant") != nullptr);
  BOOST_TEST(ops->find("softmax") == nullptr);
  BOOST_TEST((builtin_ops_if_linked() == builtin_ops()));

  Graph g(ops);
  const Value x = g.input("x", DType::f32, {"m", "k"}), w = g.input("w", DType::f32, {"k", "n"});
  Program p("p");
  p.output("y", exp(matmul(x, w) * 0.5 + 1.0));
  Graph all;
  const Value xa = all.input("x", DType::f32, {"m", "k"}),
              wa = all.input("w", DType::f32, {"k", "n"});
  Program pa("p");
  pa.output("y", exp(matmul(xa, wa) * 0.5 + 1.0));
  const Tensor a = Tensor::of<float>({2, 3}, {1, -2, 3, 4, 5, -6});
  const Tensor b = Tensor::of<float>({3, 1}, {0.5f, 0.25f, -0.125f});
  Session session(g), session_all(all);
  const Tensor y = session.run(p, {{"x", a}, {"w", b}})["y"];
  const Tensor ya = session_all.run(pa, {{"x", a}, {"w", b}})["y"];
  for (int i = 0; i < 2; ++i) BOOST_TEST(y.data<float>()[i] == ya.data<float>()[i]);
}

BOOST_AUTO_TEST_CASE(errors_name_an_op_from_a_missing_family) {
  Graph g(op_set<MatmulOps>());
  const Value x = g.input("x", DType::f32, {"m", "k"});
  check_error<ArgumentError>([&] { softmax(x, -1); }, {"softmax"});
}

BOOST_AUTO_TEST_CASE(samples_need_an_existing_op_and_are_added_once) {
  OpSamples samples;
  samples.add("matmul", no_samples);
  check_error<ArgumentError>([&] { samples.add("matmul", no_samples); },
                             {"op 'matmul' already has samples"});
  samples.add("matmull", no_samples);
  check_error<ArgumentError>([&] { samples.in(*builtin_ops()); }, {"matmull"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
