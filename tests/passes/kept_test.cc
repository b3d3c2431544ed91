// Information that every pass must preserve. A pass builds a new graph, and information that it
// does not copy is lost for later passes.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "weft/graph/control/call.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/passes/verify.h"
#include "weft/graph/text/text.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// A program that contains something for every pass to change. Its sums are only valid because of
// the requirement that "rows" equals "lines".
struct Everything {
  Graph g;
  Program p{"everything"};

  Everything() {
    const Value x = g.input("x", DType::f32, {"rows", 8});
    const Value y = g.input("y", DType::f32, {"lines", 8});
    const Value ids = g.input("ids", DType::i64, {"rows"});
    g.require(g.dim("rows") == g.dim("lines"));
    const VariableOptions normal{.initializer = Initializer::normal(0.5)};
    const Variable table =
        g.variable("table", DType::bf16, {50, 8},
                   {.trainable = false, .initializer = Initializer::uniform(-1, 2)});
    g.alias("head", table);
    const Variable weight = g.variable("weight", DType::f32, {8, 8}, normal);
    const Variable classes = g.variable("classes", DType::f32, {11, 8}, normal);
    const Variable steps = g.variable("steps", DType::f32, {}, {.kind = VariableKind::optimizer});
    define_function(
        g, "twice", {{"v", DType::f32, {"n", 8}}},
        [](Graph&, const std::vector<Value>& in) { return std::vector{in[0] + in[0]}; });

    const Value both = x + y;
    const Value called = call(g, "twice", {both})[0];
    const Value folded = g.constant(sample_uniform({8}, 1)) + g.constant(sample_uniform({8}, 2));
    const Value rows = take(cast(table, DType::f32), ids);
    const Value state = optimization_barrier(called * 1.0 + rows + folded);
    const Value narrow = tanh(state);
    const Value fused = abs(exp(state)) - y;
    const Value loss = cross_entropy(linear(state, classes), ids);
    const Value added = index_add(zeros(g, DType::f32, {50, 8}), ids, fused) +
                        g.constant(sample_uniform({50, 8}, 3));
    // Two loops over the same operands, both with a product that does not depend on the carry.
    const auto loop = [&](double factor) {
      return scan(g, {zeros(g, DType::f32, {1, 8})}, {unsqueeze(x, 1)}, {weight},
                  [&](Graph&, const ScanElements& in) {
                    const Value h = tanh(in.carries[0] + matmul(in.elements[0], in.operands[0]));
                    return ScanStep{{h}, {h * factor}};
                  });
    };
    p.output("loop", loop(2).outputs[0]).output("other loop", loop(3).outputs[0]);
    p.output("loss", loss)
        .output("relu", relu(matmul(narrow, weight)))
        .output("product", matmul(narrow, weight, {.transpose_b = true}))
        .output("added", added)
        .update(steps, steps.value() + 1.0);
    p.precision(Precision::medium);
  }
};

std::vector<std::string> requirements(const Graph& g) {
  std::vector<std::string> result;
  for (const DimEquation& e : g.requirements())
    result.push_back(e.left.str() + " = " + e.right.str());
  return result;
}

// Returns all properties of a program, one per line.
std::vector<std::string> properties(const Program& p) {
  std::vector<std::string> lines = {p.name(), std::to_string(static_cast<int>(*p.precision()))};
  for (const Value& v : p.inputs()) {
    lines.push_back("input " + v.node().attributes().text("name") + " " + v.type().str());
  }
  for (const Variable& v : p.variables()) {
    const VariableInfo& i = v.info();
    std::string line(variable_kind_name(i.kind));
    line += " " + i.name + " " + i.type.str() + (i.trainable ? " trainable " : " frozen ");
    line += std::to_string(static_cast<int>(i.initializer.kind)) + " " +
            std::to_string(i.initializer.a) + " " + std::to_string(i.initializer.b);
    for (const std::string& alias : i.aliases) line += " " + alias;
    lines.push_back(line);
  }
  for (const auto& [name, v] : p.outputs())
    lines.push_back("output " + name + " " + v.type().str());
  for (const auto& [variable, v] : p.updates()) {
    lines.push_back("update " + variable.name() + " " + v.type().str());
  }
  return lines;
}

BOOST_AUTO_TEST_SUITE(kept)

BOOST_AUTO_TEST_CASE(every_pass_keeps_requirements_variables_inputs_outputs_and_precision) {
  Everything e;
  const std::vector<std::string> before = properties(e.p);
  for (const Pass& pass : default_passes()) {
    BOOST_TEST_CONTEXT("pass " << pass.name) {
      Module start = clone_program(e.p);
      const std::string text = to_text(start.program);
      const Module done = run_passes(std::move(start), {pass}, {.verify = true});
      BOOST_TEST(to_text(done.program) != text, "the pass finds nothing to do");
      BOOST_TEST(properties(done.program) == before, boost::test_tools::per_element());
      const auto kept = requirements(*done.graph);
      for (const std::string& one : requirements(e.g)) {
        BOOST_TEST(std::count(kept.begin(), kept.end(), one) > 0, one);
      }
      // Later passes evaluate the shape rules again, which must succeed.
      verify_program(clone_program(done.program).program);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
