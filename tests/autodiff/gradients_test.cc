#include "weft/autodiff/gradients.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/autodiff/evaluate.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;

using testing::evaluate;
using testing::kPoint;

BOOST_AUTO_TEST_SUITE(gradients_of_graphs)

BOOST_AUTO_TEST_CASE(the_gradient_of_a_value_used_twice_is_a_sum) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Value loss = sum(x * x + x * 3.0);
  const auto d = evaluate(g, gradient(loss, x), {{"x", kPoint}});
  BOOST_TEST(d == (std::vector<double>{4, 1, 7}), boost::test_tools::per_element());
}

// x^0 is constant, so the factor 0^-1 in the formula of its derivative must have no effect.
BOOST_AUTO_TEST_CASE(powers_of_zero_have_derivatives_of_all_orders) {
  Graph g;
  const Value x = g.input("x", DType::f64, {5});
  const Value b = g.constant(Tensor::of<double>({5}, {0, 1, 2, 3, 4}));
  const NamedTensors feeds = {{"x", Tensor::zeros(DType::f64, {5})}};
  Value d = pow(x, b);
  // The n-th derivative of x^b at 0 is b! if n = b, and 0 otherwise.
  double factorial = 1;
  for (std::size_t n = 1; n < 5; ++n) {
    d = gradient(sum(d), x);
    factorial *= static_cast<double>(n);
    std::vector<double> wanted(5);
    wanted[n] = factorial;
    BOOST_TEST(evaluate(g, d, feeds) == wanted, boost::test_tools::per_element());
  }
}

// The products in the derivative formulas overflow, and 0 * inf is NaN.
BOOST_AUTO_TEST_CASE(gated_functions_have_derivatives_everywhere) {
  const std::vector<float> points = {1e10f,  1e13f,  1e20f,  3.4e38f,  INFINITY,
                                     -1e10f, -1e13f, -1e20f, -3.4e38f, -INFINITY};
  for (const auto f : {gelu_erf, gelu_tanh, silu, hardswish}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      Graph g;
      const Value x = g.input("x", dtype, {10});
      const Value first = gradient(sum(f(x)), x), second = gradient(sum(first), x);
      Session session(g, {.threads = 1});
      const Results r = session.run(Program("p").output("first", first).output("second", second),
                                    {{"x", Tensor::of<float>({10}, points).to(dtype)}});
      for (std::int64_t i = 0; i < 10; ++i) {
        BOOST_TEST(r["first"].at(i) == (i < 5 ? 1 : 0));
        BOOST_TEST(r["second"].at(i) == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_a_narrow_value_used_often_are_rounded_once) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Graph g;
    const Value x = g.input("x", DType::f32, {1, 1});
    const Value w = g.input("w", dtype, {1, 1});
    // The gradients of the three products are 1, tiny and tiny. Each tiny gradient alone would be
    // rounded away in a sum with 1.
    const double tiny = dtype == DType::bf16 ? 0x1p-9 : 0x1p-12;
    const Value loss = sum(matmul(x, w) + matmul(x * tiny, w) + matmul(x * (tiny * 1.5), w));
    const Value d = gradient(loss, w);
    BOOST_TEST((d.dtype() == dtype));
    Session session(g, {.threads = 1});
    const Tensor one = Tensor::full(DType::f32, {1, 1}, 1);
    const Results results = session.run(Program("p").output("d", d), {{"x", one}});
    const double expected = Tensor::full(dtype, {1}, 1 + 2.5 * tiny).at(0);
    BOOST_TEST(expected > 1);
    BOOST_TEST(results["d"].at(0) == expected);
  }
}

// In bf16, 258 follows 256, so a sum of ones stops at 256. The sum of 301, 1 and 309 is 608 instead
// of 612 if each addition is rounded.
BOOST_AUTO_TEST_CASE(gradients_of_a_row_read_often_from_a_16_bit_table_are_exact) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Graph g;
    const Value table = g.input("table", dtype, {2, 3});
    const Value often = take(table, full(g, DType::i64, {301}, 1));
    const Value once = take_along_axis(table, full(g, DType::i64, {1, 3}, 1), 0);
    const Value loss = sum(cast(often, DType::f32)) + sum(cast(once, DType::f32)) +
                       sum(cast(broadcast_to(table, {309, 2, 3}), DType::f32));
    const Value d = gradient(loss, table);
    BOOST_TEST((d.dtype() == dtype));
    const Tensor at = Tensor::full(dtype, {2, 3}, 0);
    const auto found = evaluate(g, cast(d, DType::f64), {{"table", at}});
    const double few = Tensor::full(dtype, {}, 309).at(0),
                 many = Tensor::full(dtype, {}, 611).at(0);
    const std::vector<double> expected = {few, few, few, many, many, many};
    BOOST_TEST(found == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(gradients_can_be_differentiated_again) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Value first = gradient(sum(x * x * x), x);
  const Value second = gradient(sum(first), x);
  const Value third = gradient(sum(second), x);
  const auto d2 = evaluate(g, second, {{"x", kPoint}});
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(d2[i] == 6 * kPoint.at(i), boost::test_tools::tolerance(1e-14));
  const auto d3 = evaluate(g, third, {{"x", kPoint}});
  BOOST_TEST(d3 == (std::vector<double>{6, 6, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gradients_of_broadcast_operands_are_sums) {
  Graph g;
  const Value row = g.input("row", DType::f64, {3}), column = g.input("column", DType::f64, {2, 1});
  const Value scalar = g.input("scalar", DType::f64, {});
  const Value loss = sum(row * column * scalar);
  const NamedTensors feeds = {{"row", kPoint},
                              {"column", Tensor::of<double>({2, 1}, {3, 4})},
                              {"scalar", Tensor::scalar(DType::f64, 2)}};
  const auto grads = gradients(loss, {row, column, scalar});
  BOOST_TEST(grads[1].type().str() == "f64[2, 1]");
  BOOST_TEST(evaluate(g, grads[0], feeds) == (std::vector<double>{14, 14, 14}),
             boost::test_tools::per_element());
  BOOST_TEST(evaluate(g, grads[1], feeds) == (std::vector<double>{3, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(evaluate(g, grads[2], feeds)[0] == 10.5);
}

BOOST_AUTO_TEST_CASE(gradients_exist_for_intermediate_values_and_the_output_itself) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Value y = exp(x);
  const Value loss = sum(y * y);
  const auto grads = gradients(loss, {y, x, loss});
  const auto dy = evaluate(g, grads[0], {{"x", kPoint}}),
             dx = evaluate(g, grads[1], {{"x", kPoint}});
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(dy[i] == 2 * std::exp(kPoint.at(i)), boost::test_tools::tolerance(1e-14));
    BOOST_TEST(dx[i] == 2 * std::exp(2 * kPoint.at(i)), boost::test_tools::tolerance(1e-14));
  }
  BOOST_TEST(evaluate(g, grads[2], {})[0] == 1);
}

BOOST_AUTO_TEST_CASE(stop_gradient_blocks_gradients) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Value d = gradient(sum(x * stop_gradient(x)), x);
  BOOST_TEST(evaluate(g, d, {{"x", kPoint}}) == (std::vector<double>{0.5, -1, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cotangent_makes_any_output_differentiable) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Value c = g.constant(Tensor::of<double>({3}, {1, 10, 100}));
  const Value d = gradient(x * 2.0, x, {.cotangent = c});
  BOOST_TEST(evaluate(g, d, {}) == (std::vector<double>{2, 20, 200}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_arguments) {
  Graph g, other;
  const Value x = g.input("x", DType::f32, {"n", 3}), n = g.input("n", DType::i32, {2});
  const Variable w = g.variable("w", DType::f32, {3});
  const Variable unused = g.variable("net.unused", DType::f32, {3});
  const Value loss = sum(x * w);
  BOOST_CHECK_EXCEPTION(
      gradient(x * 2.0, x), GradientError,
      message_contains({"f32[n, 3]", "is not a scalar", "pass a cotangent", "gradients_test.cc"}));
  BOOST_CHECK_EXCEPTION(gradient(loss, n), GradientError,
                        message_contains({"input 'n' (i32[2]) is not floating point"}));
  BOOST_CHECK_EXCEPTION(gradient(sum(n), x), GradientError,
                        message_contains({"not floating point"}));
  BOOST_CHECK_EXCEPTION(gradients(loss, {w, unused}), GradientError,
                        message_contains({"does not depend on variable 'net.unused' (f32[3])",
                                          "Unreachable::zeros", "gradients_test.cc"}));
  const auto zeros = gradients(loss, {w, unused}, {.unreachable = Unreachable::zeros});
  BOOST_TEST(zeros[1].type().str() == "f32[3]");
  BOOST_CHECK_EXCEPTION(gradient(loss, other.input("y", DType::f32, {1})), GraphError,
                        message_contains({"another graph"}));
  BOOST_CHECK_EXCEPTION(gradient(x * 2.0, x, {.cotangent = w}), GradientError,
                        message_contains({"the cotangent is f32[3], but f32[n, 3] was expected"}));
  BOOST_CHECK_EXCEPTION(gradient(Value(), x), GradientError, message_contains({"undefined"}));
}

BOOST_AUTO_TEST_CASE(errors_name_an_op_without_a_gradient_rule_and_its_source_line) {
  auto ops = std::make_shared<OpSet>(*builtin_ops());
  OpRecord twice = builtin_ops()->at("neg");
  twice.name = "home_made";
  ops->add(twice);
  Graph g(ops);
  const Value x = g.input("x", DType::f32, {3});
  const Value y = g.apply("home_made", {x}, {}, {"user.cc", 7}).output(0);
  BOOST_CHECK_EXCEPTION(gradient(sum(y), x), GradientError,
                        message_contains({"op home_made has no gradient rule", "user.cc:7"}));
  RuleSet rules = builtin_rules();
  rules.add("home_made",
            [](const GradientContext& c) { return std::vector<Value>{-c.cotangent()}; });
  BOOST_TEST(gradient(sum(y), x, {.rules = &rules}).type().str() == "f32[3]");
  // A rule that returns a wrong shape is detected.
  rules.add("home_made",
            [](const GradientContext& c) { return std::vector<Value>{sum(c.cotangent())}; });
  OpRecord structural = twice;
  structural.name = "structural";
  structural.traits = Trait::none;
  ops->add(structural);
  rules.add("structural",
            [](const GradientContext& c) { return std::vector<Value>{sum(c.cotangent())}; });
  const Value z = g.apply("structural", {x}, {}, {"user.cc", 9}).output(0);
  BOOST_CHECK_EXCEPTION(
      gradient(sum(z), x, {.rules = &rules}), GradientError,
      message_contains(
          {"the gradient rule of op structural returns f32[] for operand 0", "user.cc:9"}));
}

BOOST_AUTO_TEST_CASE(gradient_nodes_name_their_forward_op_and_source_line) {
  Graph g;
  const Value x = g.input("x", DType::f32, {3});
  const Value y = g.apply("exp", {x}, {}, {"user.cc", 5}).output(0);
  const Value d = gradient(sum(y), x);
  const std::string where = g.where(d.node());
  BOOST_TEST((where.find("user.cc:5") != std::string::npos), where);
  BOOST_TEST((where.find("gradient of exp") != std::string::npos), where);
}

BOOST_AUTO_TEST_CASE(a_deep_chain_is_differentiated_without_recursion) {
  Graph g;
  const Value x = g.input("x", DType::f64, {});
  Value y = x;
  for (int i = 0; i < 100000; ++i) y = y * 1.0;
  BOOST_TEST(gradient(y, x).defined());
}

// Operands with equal values share the gradient equally, as documented.
BOOST_AUTO_TEST_CASE(tied_operands_share_the_gradient) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), y = g.input("y", DType::f64, {3});
  const NamedTensors feeds = {{"x", kPoint}, {"y", kPoint}};
  for (const Value& loss : {sum(maximum(x, y)), sum(minimum(x, y))}) {
    for (const Value& operand : {x, y}) {
      const auto d = evaluate(g, gradient(loss, operand), feeds);
      BOOST_TEST(d == (std::vector<double>{0.5, 0.5, 0.5}), boost::test_tools::per_element());
    }
  }
  const Tensor level = Tensor::of<double>({3}, {2, 2, 1});
  const auto d = evaluate(g, gradient(max(x), x), {{"x", level}});
  BOOST_TEST(d == (std::vector<double>{0.5, 0.5, 0}), boost::test_tools::per_element());
}

// The axis is moved to the end and back; with four axes, this is more than swapping two axes.
BOOST_AUTO_TEST_CASE(gradients_of_products_over_any_axis_are_correct) {
  for (int axis = 0; axis < 4; ++axis) {
    Graph g;
    const Value x = g.input("x", DType::f64, {2, 3, 4, 5});
    const Value loss = sum(prod(x, {axis}) * 0.5);
    Tensor values = Tensor::empty(DType::f64, {2, 3, 4, 5});
    for (std::int64_t i = 0; i < values.numel(); ++i)
      values.mutable_data<double>()[i] = 0.5 + std::fmod(0.37 * static_cast<double>(i), 1.0);
    const auto d = evaluate(g, gradient(loss, x), {{"x", values}});
    const auto products = evaluate(g, prod(x, {axis}, true) / x, {{"x", values}});
    for (std::size_t i = 0; i < d.size(); ++i)
      BOOST_TEST(d[i] == 0.5 * products[i], boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
