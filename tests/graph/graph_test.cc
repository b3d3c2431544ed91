#include "weft/graph/ir/graph.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/graph/ir/clone.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/ir/scope.h"

namespace weft {
namespace {

auto contains(std::string a, std::string b = {}, std::string c = {}) {
  return [=](const Error& e) {
    const std::string text = e.what();
    const bool ok = text.find(a) != std::string::npos && text.find(b) != std::string::npos &&
                    text.find(c) != std::string::npos;
    if (!ok) BOOST_TEST_MESSAGE(text);
    return ok;
  };
}

Value iota(Graph& g, Shape shape, DType dtype = DType::f32) {
  return g.apply("iota", {}, {{"shape", shape}, {"axis", std::int64_t{0}}, {"dtype", dtype}})
      .output(0);
}

BOOST_AUTO_TEST_SUITE(graph)

BOOST_AUTO_TEST_CASE(inputs_have_named_dims) {
  Graph g;
  const Value x = g.input("x", DType::i32, {"batch", "seq", 3});
  BOOST_TEST(x.type().str() == "i32[batch, seq, 3]");
  BOOST_TEST((x.size(-1) == Dim(3)));
  BOOST_TEST((g.find_input("x") == x));
  BOOST_CHECK_EXCEPTION(g.input("x", DType::i32, {1}), GraphError,
                        contains("input 'x'", "already exists", "graph_test.cc"));
  BOOST_CHECK_EXCEPTION(g.input("y", DType::i32, {-1}), ShapeError, contains("negative size"));
}

BOOST_AUTO_TEST_CASE(equal_nodes_are_shared) {
  Graph g;
  BOOST_TEST((iota(g, {3, 4}) == iota(g, {3, 4})));
  BOOST_TEST((iota(g, {3, 4}) != iota(g, {4, 3})));
  BOOST_TEST((g.scalar(DType::f32, 1) == g.scalar(DType::f32, 1)));
  // -0.0 and 0.0 are different constants.
  BOOST_TEST((g.scalar(DType::f32, 0.0) != g.scalar(DType::f32, -0.0)));
  const OpRecord& op = g.ops().at("optimization_barrier");
  const Value x = iota(g, {3});
  Node& a = g.apply(op, {x});
  Node& b = g.apply(op, {x}, {}, SourceLocation::current(), g.next_instance());
  BOOST_TEST(&a != &b);
}

BOOST_AUTO_TEST_CASE(variables_and_aliases) {
  Graph g;
  Scope net(g, "net");
  const Variable w = (net / "block" / 3).variable("weight", DType::f32, {2, 3});
  BOOST_TEST(w.name() == "net.block.3.weight");
  g.alias("head.weight", w);
  BOOST_TEST((g.find_variable("head.weight") == w));
  BOOST_TEST(g.parameters().size() == 1u);
  g.set_trainable(w, false);
  BOOST_TEST(g.parameters().empty());
  BOOST_CHECK_EXCEPTION(net.variable("block.3.weight", DType::f32, {1}), GraphError,
                        contains("already exists", "graph_test.cc"));
  BOOST_CHECK_EXCEPTION(g.variable("v", DType::f32, {"n"}), ShapeError,
                        contains("only variables of kind cache"));
  BOOST_CHECK_EXCEPTION(g.find_variable("nope"), GraphError, contains("no variable 'nope'"));
  BOOST_CHECK_EXCEPTION(g.find_variable("head.wieght"), GraphError,
                        contains("no variable 'head.wieght' (did you mean 'head.weight'?)"));
  BOOST_TEST((g.key("dropout") == g.key("dropout")));
  BOOST_CHECK_EXCEPTION(g.key("head.weight"), GraphError, contains("is a parameter"));
}

BOOST_AUTO_TEST_CASE(errors_name_the_op_the_operands_and_the_source_line) {
  Graph g, other;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  BOOST_CHECK_EXCEPTION(g.apply("iota", {x}), ArgumentError,
                        contains("iota: accepts at most 0 operands, but 1 are given",
                                 "f32[batch, 4]", "graph_test.cc"));
  BOOST_CHECK_EXCEPTION(g.apply("iotta", {}), ArgumentError, contains("did you mean 'iota'?"));
  const Value y = other.input("y", DType::f32, {4});
  BOOST_CHECK_EXCEPTION(g.apply("optimization_barrier", {y}), GraphError,
                        contains("Value of another graph", "x: f32[4]", "graph_test.cc"));
  BOOST_CHECK_EXCEPTION(g.apply("optimization_barrier", {Value()}), ArgumentError,
                        contains("operand 'x' is missing"));
  BOOST_CHECK_EXCEPTION(
      g.apply("iota", {},
              {{"shape", Shape{other.dim("n")}}, {"axis", std::int64_t{0}}, {"dtype", DType::i64}}),
      GraphError, contains("symbol 'n' of another graph"));
  BOOST_CHECK_EXCEPTION(g.apply("iota", {}, {{"shape", Shape{3}}}), ArgumentError,
                        contains("requires attribute 'axis'"));
}

BOOST_AUTO_TEST_CASE(locations_include_the_callers) {
  Graph g;
  Node* node = nullptr;
  {
    Graph::Frame outer(g, "my_block", {"user.cc", 12}, "net.block");
    Graph::Frame inner(g, "linear", {"block.cc", 7});
    node = &g.apply("iota", {},
                    {{"shape", Shape{3}}, {"axis", std::int64_t{0}}, {"dtype", DType::i64}},
                    {"linear.cc", 3});
    BOOST_CHECK_EXCEPTION(
        g.apply("iota", {}, {}, {"linear.cc", 4}), ArgumentError,
        contains(
            "at linear.cc:4, in linear called at block.cc:7, in my_block called at user.cc:12"));
  }
  BOOST_TEST(g.where(*node) ==
             "linear.cc:3, in linear called at block.cc:7, in my_block called at user.cc:12");
  BOOST_TEST(g.scope_of(*node) == "net.block");
}

// Passes build graphs from graphs that are then discarded, and plug-ins can be unloaded. Therefore
// a graph must own its file names.
BOOST_AUTO_TEST_CASE(a_graph_owns_its_file_names) {
  Graph g;
  const Value x = g.input("x", DType::f32, {3});
  std::vector<char> name(64, 'f');
  name.back() = 0;
  const std::string expected(name.data());
  const Node* inner = nullptr;
  {
    const Graph::Frame frame(g, "layer", {name.data(), 9});
    inner = &g.apply("exp", {x}, {}, {name.data(), 7});
  }
  std::fill(name.begin(), name.end() - 1, 'x');
  BOOST_TEST(g.where(*inner) == expected + ":7, in layer called at " + expected + ":9");
}

BOOST_AUTO_TEST_CASE(required_dims_are_treated_as_equal) {
  Graph g;
  const Dim a = g.dim("a"), b = g.dim("b"), c = g.dim("c");
  BOOST_TEST(!g.facts().equal(a, b * 2));
  g.require(a == b * 2);
  BOOST_TEST(g.facts().equal(a, b * 2));
  BOOST_TEST(g.facts().equal(a * c, c * b * 2));
  BOOST_TEST(!g.facts().equal(a, b));
  g.require(c * c == b * a);  // not linear in any symbol, but stored as written
  BOOST_TEST(g.facts().equal(c * c, b * b * 2));
  BOOST_CHECK_EXCEPTION(g.require(a == a + 1), ShapeError, contains("can never hold"));
}

BOOST_AUTO_TEST_CASE(programs_validate_outputs_and_updates) {
  Graph g, other;
  const Variable w = g.variable("w", DType::f32, {3});
  const Value x = iota(g, {3}), i = iota(g, {3}, DType::i64);
  Program p("train");
  p.output("x", x);
  BOOST_CHECK_EXCEPTION(p.output("x", i), GraphError, contains("already has an output 'x'"));
  BOOST_CHECK_EXCEPTION(p.output("y", iota(other, {3})), GraphError, contains("another graph"));
  BOOST_CHECK_EXCEPTION(p.update(w, i), DTypeError, contains("update of 'w'", "i64[3]"));
  BOOST_CHECK_EXCEPTION(p.update(w, iota(g, {4})), ShapeError, contains("f32[4]"));
  p.update(w, x);
  BOOST_CHECK_EXCEPTION(p.update(w, x), GraphError, contains("already updates this variable"));
  BOOST_TEST(p.nodes().size() == 1u);
  BOOST_TEST(p.variables().size() == 1u);
}

BOOST_AUTO_TEST_CASE(clones_contain_everything_that_is_used) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 2});
  g.input("unused", DType::f32, {1});
  const Variable w = g.variable("w", DType::f32, {3}, {.initializer = Initializer::normal(0.5)});
  g.alias("tied", w);
  const Value y = g.apply("optimization_barrier", {x}, {}, {"user.cc", 5}).output(0);
  g.set_name("y", y);
  Program p("p");
  p.output("out", y).update(w, g.apply("optimization_barrier", {w}).output(0));
  const Module m = clone_program(p);
  BOOST_TEST(m.graph->inputs().size() == 1u);
  BOOST_TEST(m.program.outputs()[0].second.type().str() == "f32[n, 2]");
  BOOST_TEST((m.graph->find_named("y") == m.program.outputs()[0].second));
  BOOST_TEST((m.graph->find_variable("tied").info().initializer == Initializer::normal(0.5)));
  BOOST_TEST(m.graph->where(m.program.outputs()[0].second.node()) == "user.cc:5");
  const Module d =
      clone_program(p, {.map_dtype = [](DType t) { return t == DType::f32 ? DType::f64 : t; }});
  BOOST_TEST(d.program.outputs()[0].second.type().str() == "f64[n, 2]");
  BOOST_TEST((d.graph->find_variable("w").dtype() == DType::f64));
}

BOOST_AUTO_TEST_CASE(quotients_of_dims_may_be_required) {
  Graph g;
  const Dim n = g.dim("n"), m = g.dim("m"), k = g.dim("k");
  g.require(floor_div(n, m) == k);
  g.require(floor_div(k, n - m) == m * m);
  BOOST_TEST(g.facts().equal(floor_div(n, m), k));
  BOOST_TEST(!g.facts().equal(n, m));
}

BOOST_AUTO_TEST_CASE(dim_names_round_trip) {
  Graph g;
  for (const char* name : {"n", "_n1", "block.0/rows", "größe", "min"}) {
    const Dim twice = g.dim(name) * 2 + 1;
    const bool same =
        Dim::parse(twice.str(), [&](std::string_view n) { return g.find_symbol(n); }) == twice;
    BOOST_TEST(same, name);
  }
  for (const char* name : {"my dim", "1n", "a//b", "2*n", "a-b", "n,m", "a(b", "/a", ".a", " "}) {
    BOOST_CHECK_EXCEPTION(g.input("x", DType::f32, {name}), ArgumentError,
                          contains(std::string("\"") + name + "\" cannot be the name of a dim: "));
  }
  BOOST_TEST(g.symbols().size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_chain_of_a_million_nodes_is_supported) {
  Graph g;
  Value v = iota(g, {2});
  const OpRecord& op = g.ops().at("optimization_barrier");
  for (int i = 0; i < 1000000; ++i) v = g.apply(op, {v}).output(0);
  Program p("deep");
  p.output("v", v);
  BOOST_TEST(p.nodes().size() == 1000001u);
  BOOST_TEST(clone_program(p).graph->node_count() == 1000001u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
