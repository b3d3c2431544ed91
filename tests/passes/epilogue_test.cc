// Elementwise steps after a product are moved into the product if possible.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/ops/fusion/tile_program.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace tt = boost::test_tools;
namespace {

std::vector<const Node*> products_of(const Module& module) {
  std::vector<const Node*> result;
  for (const Node* n : module.program.nodes()) {
    if (n->op().name.starts_with("matmul")) result.push_back(n);
  }
  return result;
}

Module passed(const Program& program) {
  return run_passes(clone_program(program), {.verify = true});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(epilogue)

BOOST_AUTO_TEST_CASE(bias_activation_and_residual_are_fused_into_the_product) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"rows", 8}), r = g.input("r", DType::f32, {"rows", 6});
  const Value w = g.input("w", DType::f32, {8, 6}), b = g.input("b", DType::f32, {6});
  const Program p = Program("p").output("y", r + gelu(matmul(x, w) + b));
  const Module m = passed(p);
  const auto products = products_of(m);
  BOOST_REQUIRE_EQUAL(products.size(), 1u);
  BOOST_TEST(products[0]->op().name == "matmul_fused");
  BOOST_TEST(products[0]->attributes().text("program") ==
             "%3 = add(%0, %1); %4 = gelu_erf(%3); %5 = add(%2, %4); return %5");
}

BOOST_AUTO_TEST_CASE(bias_residual_and_activation_are_fused_into_convolutions) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 3, "h", "h"}),
              w = g.input("w", DType::f32, {5, 3, 3, 3}), b = g.input("b", DType::f32, {5}),
              row = g.input("row", DType::f32, {"h"});
  const Value r = g.input("r", DType::f32, {"n", 5, "h", "h"});
  const Value y = conv2d(x, w, b, {.padding = {1, 1}});
  const auto program_of = [](const Value& v) {
    std::string text;
    const Module m = passed(Program("p").output("y", v));
    for (const Node* n : m.program.nodes())
      if (n->op().name == "conv2d_fused") text += n->attributes().text("program");
    return text;
  };
  BOOST_TEST(program_of(relu(y + r)) ==
             "%3 = add(%0, %1); %4 = add(%3, %2); %5 = relu(%4); return %5");
  // An element per pixel of a row is no operand of the tiles of an image.
  BOOST_TEST(program_of(conv2d(x, w, {}, {.padding = {1, 1}}) * row) == "");
}

BOOST_AUTO_TEST_CASE(a_single_step_is_fused_for_any_order_of_operands) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"rows", 8}), w = g.input("w", DType::f32, {8, 6});
  const Value r = g.input("r", DType::f32, {"rows", 6});
  const Module m = passed(Program("p").output("y", r - matmul(x, w)));
  const auto products = products_of(m);
  BOOST_REQUIRE_EQUAL(products.size(), 1u);
  BOOST_TEST(products[0]->attributes().text("program") == "%2 = sub(%1, %0); return %2");
}

BOOST_AUTO_TEST_CASE(a_value_read_by_the_backward_pass_becomes_a_second_result) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"rows", 8});
  const Variable w = g.variable("w", DType::f32, {8, 6}), b = g.variable("b", DType::f32, {6});
  const Value loss = sum(gelu(matmul(x, w) + b));
  const std::vector<Value> grads = gradients(loss, {w, b});
  Program p = Program("p").output("loss", loss).output("dw", grads[0]);
  bool two = false;
  const Module m = passed(p);
  for (const Node* n : products_of(m)) {
    if (n->op().name != "matmul_fused") continue;
    two = two || TileProgram::parse(n->attributes().text("program")).results.size() == 2;
  }
  BOOST_TEST(two);
}

BOOST_AUTO_TEST_CASE(steps_are_fused_into_products_with_quantised_weights) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"rows", 8}), r = g.input("r", DType::f32, {"rows", 6});
  const Variable w = g.variable("w", DType::f32, {8, 6}, {.initializer = Initializer::normal(1)});
  const Variable b = g.variable("b", DType::f32, {6}, {.initializer = Initializer::normal(1)});
  const Program p = Program("p").output("y", r + gelu(matmul(x, w) + b));
  const auto store = std::make_shared<VariableStore>();
  Session(g, store).initialise();
  for (const WeightFormat format : {WeightFormat::int8, WeightFormat::int4, WeightFormat::q8_0}) {
    const QuantizedModel model = quantize({p}, *store, {.weights = format});
    const Module m = passed(model.programs[0]);
    std::vector<std::string> ops;
    for (const Node* n : m.program.nodes()) {
      if (!n->inputs().empty()) ops.push_back(n->op().name);
    }
    BOOST_TEST(ops == std::vector<std::string>{"quantized_matmul_fused"}, tt::per_element());
    // The bits equal those of separate steps, for few rows and for many.
    Session with(*model.graph, model.store);
    const Module plain = run_passes(clone_program(model.programs[0]), {.disabled = {"epilogue"}});
    Session without(*plain.graph, model.store, {.passes = false});
    for (const std::int64_t rows : {1, 3, 40}) {
      const NamedTensors feeds = {{"x", sample_uniform({rows, 8}, 1)},
                                  {"r", sample_uniform({rows, 6}, 2)}};
      BOOST_TEST(bitwise_equal(with.run(model.programs[0], feeds)["y"],
                               without.run(plain.program, feeds)["y"]));
    }
  }
}

BOOST_AUTO_TEST_CASE(products_with_other_readers_or_column_operands_are_not_fused) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"rows", 8}), w = g.input("w", DType::f32, {8, 6});
  const Value column = g.input("c", DType::f32, {"rows", 1});
  const Value y = matmul(x, w);
  for (const Value& v : {y * column, y / sum(y)}) {
    const Module m = passed(Program("p").output("v", v));
    for (const Node* n : products_of(m)) BOOST_TEST(n->op().name == "matmul");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
