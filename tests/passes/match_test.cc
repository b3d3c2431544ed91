// Helpers that match nodes by op and find the consumers of a value.
#include "weft/graph/passes/match.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "weft/graph/functions.h"

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(match)

BOOST_AUTO_TEST_CASE(an_undefined_value_matches_no_op) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  BOOST_TEST(is(x + x, "add"));
  BOOST_TEST(!is(x + x, "mul"));
  BOOST_TEST(is((x + x).node(), "add"));
  BOOST_TEST(!is(Value(), "add"));
}

BOOST_AUTO_TEST_CASE(uses_are_listed_in_node_order) {
  Graph g;
  const Value x = g.input("x", DType::f32, {4});
  const Value square = x * x, sum = x + square;
  const Value unseen = exp(x);  // not part of a program
  const Variable w = g.variable("w", DType::f32, {4});
  const Program p = Program("p").output("sum", sum).output("again", sum).update(w, square);
  const Consumers consumers(p);

  const auto uses = consumers.uses(x);
  BOOST_REQUIRE_EQUAL(uses.size(), 3u);
  BOOST_TEST(uses[0].node == square.node_pointer());
  BOOST_TEST(uses[1].node == square.node_pointer());
  BOOST_TEST((uses[0].operand == 0 && uses[1].operand == 1));
  BOOST_TEST((uses[2].node == sum.node_pointer() && uses[2].operand == 0));
  const std::vector<Node*> readers = {square.node_pointer(), sum.node_pointer()};
  BOOST_TEST(consumers.readers(x.node()) == readers, boost::test_tools::per_element());

  BOOST_TEST(!consumers.is_root(x));
  BOOST_TEST(consumers.is_root(sum));
  BOOST_TEST(consumers.is_root(square));  // used by an update
  BOOST_TEST(consumers.count(x) == 3u);
  BOOST_TEST(consumers.count(square) == 2u);
  BOOST_TEST(consumers.count(sum) == 2u);  // two outputs
  BOOST_TEST(consumers.nodes().size() == 3u);

  // Nodes that the program does not use, and nodes that were added later.
  for (const Value& v : {unseen, unseen * 2.0}) {
    BOOST_TEST(consumers.count(v) == 0u);
    BOOST_TEST(!consumers.is_root(v.node()));
    BOOST_TEST(consumers.readers(v.node()).empty());
  }
  BOOST_TEST(Consumers(Program("empty")).nodes().empty());
}

BOOST_AUTO_TEST_CASE(outputs_of_one_node_have_separate_consumers) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"rows", 4});
  const Value targets = g.input("targets", DType::i64, {"rows"});
  Node& node = g.apply("cross_entropy", {x, targets}, {{"axis", std::int64_t{1}}});
  const Value lse = node.output(1), loss = node.output(0);
  const Value third = exp(lse), second = exp(loss) + lse;
  const Consumers consumers(Program("p").output("a", second).output("b", third).output("lse", lse));
  BOOST_TEST(consumers.uses(loss).size() == 1u);
  BOOST_TEST(consumers.uses(lse).size() == 2u);
  BOOST_TEST(!consumers.is_root(loss));
  BOOST_TEST(consumers.is_root(lse));
  BOOST_TEST(consumers.is_root(node));
  const std::vector<Node*> readers = consumers.readers(node);
  BOOST_TEST(readers.size() == 3u);
  BOOST_TEST(std::is_sorted(readers.begin(), readers.end(),
                            [](const Node* a, const Node* b) { return a->id() < b->id(); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
