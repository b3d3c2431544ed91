// Tests of graph and plan checks and their messages.
#include "weft/testing/graph_checks.h"

#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/testing/printing.h"

namespace weft::testing {
namespace {

struct Network {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 8});
  Variable w = g.variable("w", DType::f32, {8, 4}, {.initializer = Initializer::normal(1)});
  Variable b = g.variable("b", DType::f32, {4}, {.initializer = Initializer::zeros()});
  Program program = Program("net").output("y", relu(matmul(x, w) + b));
  Session session{g, {.threads = 1}};
  std::shared_ptr<const Plan> plan = session.plan(program, {{"x", {16, 8}}});
};

BOOST_AUTO_TEST_SUITE(graph_checks)

BOOST_FIXTURE_TEST_CASE(graphs_are_compared_with_their_text, Network) {
  const std::string_view text = R"(weft text 1
dim batch
input %x: f32[batch, 8]
variable @w: parameter f32[8, 4] = normal(0, 1)
variable @b: parameter f32[4] = constant(0)
%0 = matmul(%x, @w) : f32[batch, 4]   // numbers and spaces do not matter
%9 =   add(%0, @b) : f32[batch, 4]
%2 = relu(%9) : f32[batch, 4]
program net {
  output y = %2
}
)";
  BOOST_TEST(expect_graph(program, text));
  std::string other(text);
  other.replace(other.find("relu"), 4, "tanh");
  const Outcome found = expect_graph(program, other);
  BOOST_TEST(!found);
  BOOST_TEST(found.message().find("\n- %2 = tanh(%1) : f32[batch, 4]\n+ %2 = relu(%1) : f32[batch, "
                                  "4]\n  program net {") != std::string::npos,
             found);
  BOOST_TEST(found.message().find("\n  ...\n") != std::string::npos, found);
  BOOST_CHECK_THROW((void)expect_graph(program, "weft text 1\n%0 = nonsense"), FormatError);
}

BOOST_AUTO_TEST_CASE(ops_in_loop_bodies_are_found) {
  Graph g;
  const Value xs = g.input("xs", DType::f32, {"steps", 4});
  const Value start = g.constant(Tensor::zeros(DType::f32, {4}));
  const ScanResult loop = scan(g, {start}, {xs}, {}, [](Graph&, const ScanElements& in) {
    return ScanStep{{tanh(in.carries[0] + in.elements[0])}};
  });
  const Program program = Program("loop").output("last", loop.carries[0]);
  Session session(g, {.threads = 1});
  const auto plan = session.plan(program, {{"xs", {5, 4}}});
  BOOST_TEST(expect_no_op(*plan, "exp"));
  BOOST_TEST(!expect_no_op(*plan, "tanh"));
}

BOOST_FIXTURE_TEST_CASE(ops_and_steps_are_counted, Network) {
  BOOST_TEST(count_ops(program, "matmul") == 1);
  BOOST_TEST(count_ops(program, "softmax") == 0);
  BOOST_TEST(expect_steps(*plan, "matmul+add+relu", 1));
  BOOST_TEST(count_steps(*plan, "matmul*") == 1);
  BOOST_TEST(expect_steps_within(*plan, 1));
  BOOST_TEST(expect_steps_within(*plan, 0).message() ==
             "the plan of 'net' has 1 steps, expected at most 0\n  all steps: 1 x matmul+add+relu");
  BOOST_TEST(expect_no_op(*plan, "cast"));
  const Outcome hidden = expect_no_op(*plan, "relu");
  BOOST_TEST(hidden.message().find("the plan of 'net' runs relu:\n  matmul+add+relu") == 0, hidden);
  BOOST_TEST(hidden.message().find("graph_checks_test.cc:") != std::string::npos, hidden);
  const Outcome found = expect_steps(*plan, "relu", 1);
  BOOST_TEST(found.message() ==
             "the plan of 'net' has 0 steps 'relu', expected 1\n  all steps: 1 x matmul+add+relu");
}

BOOST_FIXTURE_TEST_CASE(bounds_on_values_arena_and_flops_are_checked, Network) {
  BOOST_TEST(expect_no_value_above(*plan, 16 * 4 * 4));
  const Outcome large = expect_no_value_above(*plan, 16 * 4 * 4 - 1);
  BOOST_TEST(
      large.message().find("f32[16, 4] with 256 bytes: matmul+add+relu") != std::string::npos,
      large);
  BOOST_TEST(large.message().find("graph_checks_test.cc:") != std::string::npos, large);
  const Program two = Program("two").output("z", matmul(relu(matmul(x, w)), transpose(w)));
  const auto larger = session.plan(two, {{"x", {16, 8}}});
  BOOST_TEST(expect_arena_within(*larger, larger->arena_bytes));
  const Outcome arena = expect_arena_within(*larger, 1);
  BOOST_TEST(arena.message().find("expected at most 1\narena ") != std::string::npos, arena);
  BOOST_TEST(expect_flops_within(*plan, 2 * 16 * 8 * 4 + 3 * 64));
  BOOST_TEST(!expect_flops_within(*plan, 2 * 16 * 8 * 4 - 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
