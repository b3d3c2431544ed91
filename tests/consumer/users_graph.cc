// Unit tests of a user's graph: gradients are checked in double, the graph is compared with its
// text, and an error message is tested.
#define BOOST_TEST_MODULE users_graph
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/check_gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/testing/graph_checks.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/run_checks.h"
#include "weft/testing/simd_targets.h"

namespace {

using namespace weft;

// Residual gate: x * sigmoid(x w) + x.
Value gate(Value x, Variable weight) { return x * sigmoid(matmul(x, weight)) + x; }

struct GateGraph {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 3});
  Variable weight =
      g.variable("weight", DType::f32, {3, 3}, {.initializer = Initializer::normal(1)});
  Value y = gate(x, weight);
};

BOOST_FIXTURE_TEST_CASE(gradients_equal_finite_differences, GateGraph) {
  const Tensor at = Tensor::of<float>({2, 3}, {0.5f, -1.0f, 0.25f, 2.0f, -0.5f, 1.0f});
  BOOST_TEST(check_gradients(y, {x, weight}, {.feeds = {{"x", at}}, .second_order = true}));
}

BOOST_FIXTURE_TEST_CASE(the_graph_has_the_expected_text, GateGraph) {
  Program program("gate");
  program.output("y", y);
  const std::string expected = R"(weft text 1
dim batch
input %x: f32[batch, 3]
variable @weight: parameter f32[3, 3] = normal(0, 1)
%0 = matmul(%x, @weight) : f32[batch, 3]
%1 = sigmoid(%0) : f32[batch, 3]
%2 = mul(%x, %1) : f32[batch, 3]
%3 = add(%2, %x) : f32[batch, 3]
program gate {
  output y = %3
}
)";
  BOOST_TEST(testing::expect_graph(program, expected));
  BOOST_TEST(to_text(parse_text(expected).program) == expected);
}

BOOST_FIXTURE_TEST_CASE(threads_files_and_memory_do_not_change_results, GateGraph) {
  const Program program = Program("gate").output("y", y);
  const testing::RunSetup setup{.feeds = {{"x", testing::normal_tensor({5, 3}, 1)}}};
  BOOST_TEST(testing::check_determinism(g, program, setup));
  BOOST_TEST(testing::check_round_trip(g, program, setup));
  BOOST_TEST(testing::check_serving(g, program, setup));
}

BOOST_FIXTURE_TEST_CASE(a_closed_gate_is_the_identity_on_every_simd_target, GateGraph) {
  Program program("gate");
  program.output("y", y);
  const Tensor ones = Tensor::full(DType::f32, {1, 3}, 1);
  testing::for_each_simd_target([&](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      Session session(g);
      session.set_value("weight", Tensor::full(DType::f32, {3, 3}, -100));
      const Tensor out = session.run(program, {{"x", ones}})["y"];
      for (int i = 0; i < 3; ++i) BOOST_TEST(out.at(i) == 1.0);
    }
  });
}

BOOST_FIXTURE_TEST_CASE(errors_name_the_types_and_the_source_line, GateGraph) {
  BOOST_CHECK_EXCEPTION(gate(g.input("wide", DType::f32, {"batch", 4}), weight), ShapeError,
                        [](const ShapeError& e) {
                          const std::string text = e.what();
                          return text.find("f32[batch, 4]") != std::string::npos &&
                                 text.find("f32[3, 3]") != std::string::npos &&
                                 text.find("users_graph.cc:") != std::string::npos;
                        });
}

}  // namespace
