// Tests that programs with deliberate faults are shrunk.
#include "weft/tests/random_programs/shrink.h"

#include <boost/test/unit_test.hpp>

#include "weft/tests/random_programs/rebuild.h"

namespace weft {
namespace {

using testing::Case;
using testing::Examined;

/// A program with unrelated nodes that draws twice from the same random stream.
Case faulty() {
  Case c{{std::make_unique<Graph>(), Program("fuzz")}, {}, {}};
  Graph& g = *c.module.graph;
  const Value x = g.input("x", {DType::f32, Shape{g.dim("n"), 17}});
  const Value index = g.input("index", DType::i64, {5});
  const Value key = g.key("noise").value();
  const Value h = g.apply("tanh", {x}).output(0);
  const std::int64_t stream = g.next_stream();
  const Value a = g.apply("dropout", {h, key}, {{"rate", 0.25}, {"stream", stream}}).output(0);
  const Value rows = g.apply("take", {a, index}, {{"axis", std::int64_t{1}}}).output(0);
  const Value b = g.apply("dropout", {rows, key}, {{"rate", 0.5}, {"stream", stream}}).output(0);
  c.module.program.output("a", a).output("b", b).output("h", h);
  c.variables.emplace_back("noise", Tensor::of<std::int64_t>({2}, {7, 0}));
  for (const std::int64_t n : {3, 4}) {
    c.runs.push_back({{{"x", Tensor::full(DType::f32, {n, 17}, 0.5)},
                       {"index", Tensor::of<std::int64_t>({5}, {0, 16, 3, 3, 1})}},
                      {{"n", n}}});
  }
  return c;
}

BOOST_AUTO_TEST_SUITE(shrinking)

BOOST_AUTO_TEST_CASE(a_failing_program_is_shrunk_to_fewer_nodes_runs_and_sizes) {
  Examined ignored;
  const auto failure = testing::examine(faulty(), 0, ignored);
  BOOST_REQUIRE(failure);
  BOOST_TEST(failure->check == "draws");
  const Case small = testing::shrink(faulty(), failure->check, 60);
  BOOST_TEST(small.runs.size() == 1u);
  BOOST_TEST(small.module.program.outputs().size() == 1u);
  for (const Node* node : small.module.program.nodes()) {
    const std::string& op = node->op().name;
    BOOST_TEST((op == "input" || op == "variable" || op == "dropout" || op == "key_advance" ||
                op == "take"),
               op);
    if (op != "variable" && op != "key_advance") {
      for (const Dim& d : node->type(0).shape) BOOST_TEST((d == Dim(1) || d == Dim(0)), d.str());
    }
  }
  const auto again = testing::examine(small, 0, ignored);
  BOOST_REQUIRE(again);
  BOOST_TEST(again->check == "draws");
}

BOOST_AUTO_TEST_CASE(gradients_of_one_of_several_losses_are_shrunk) {
  Case c{{std::make_unique<Graph>(), Program("fuzz")}, {}, {}};
  const Value x = c.module.graph->input("x", {DType::f32, Shape{3}});
  for (const std::string loss : {"first", "second"}) {
    const Value y = c.module.graph->apply(loss == "first" ? "tanh" : "exp", {x}).output(0);
    c.module.program.output(loss, y).output("grad " + loss + " x", y);
  }
  c.runs.push_back({{{"x", Tensor::full(DType::f32, {3}, 0.5)}}, {}});
  const Case small = testing::shrink(c, "gradient", 60);
  std::vector<std::string> names;
  for (const auto& [name, value] : small.module.program.outputs()) names.push_back(name);
  BOOST_TEST(names == (std::vector<std::string>{"second", "grad second x"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rebuilt_programs_keep_the_first_elements_of_their_data) {
  const Case c = testing::rebuilt(
      faulty(),
      {.size = [](std::int64_t s) { return s == 17 ? std::int64_t{4} : s; }, .integers_below = 4});
  BOOST_TEST(c.runs[0].feeds[0].second.type_str() == "f32[3, 4]");
  BOOST_TEST(
      bitwise_equal(c.runs[1].feeds[1].second, Tensor::of<std::int64_t>({5}, {0, 3, 3, 3, 1})));
  const Case one_row = testing::with_dims(faulty(), 1, {{"n", 1}});
  BOOST_TEST(one_row.runs[0].feeds[0].second.type_str() == "f32[3, 17]");
  BOOST_TEST(one_row.runs[1].feeds[0].second.type_str() == "f32[1, 17]");
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_only_written_is_rebuilt) {
  Case c = faulty();
  Graph& g = *c.module.graph;
  const Variable v = g.variable("v", {DType::f32, Shape{2}}, {.kind = VariableKind::buffer});
  c.variables.emplace_back("v", Tensor::full(DType::f32, {2}, 3));
  c.module.program.update(v, g.constant(Tensor::full(DType::f32, {2}, 4)));
  const Case again = testing::rebuilt(c, {});
  BOOST_REQUIRE(again.module.program.given_updates().size() == 1u);
  BOOST_TEST(again.module.program.given_updates().begin()->first.name() == "v");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
