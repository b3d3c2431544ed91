// Gradients through function calls, and custom gradients.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/autodiff/evaluate.h"

namespace weft {
namespace {

using testing::evaluate;
using testing::kPoint;

BOOST_AUTO_TEST_SUITE(call_gradients)

BOOST_AUTO_TEST_CASE(gradients_through_a_call_equal_gradients_through_the_function_body) {
  Graph g;
  define_function(g, "product_of_exp", {{"a", DType::f64, {"n"}}, {"b", DType::f64, {"n"}}},
                  [](Graph&, const std::vector<Value>& in) {
                    return std::vector<Value>{exp(in[0]) * in[1], sum(in[0] * in[1])};
                  });
  const Value x = g.input("x", DType::f64, {"m"}), y = g.input("y", DType::f64, {"m"});
  const auto called = call(g, "product_of_exp", {x, y});
  const Value direct = exp(x) * y, direct_sum = sum(x * y);
  const NamedTensors feeds = {{"x", kPoint}, {"y", Tensor::of<double>({3}, {1, 2, -3})}};
  const auto of_call = gradients(sum(called[0] * called[0]) + called[1], {x, y});
  const auto of_body = gradients(sum(direct * direct) + direct_sum, {x, y});
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(evaluate(g, of_call[i], feeds) == evaluate(g, of_body[i], feeds),
               boost::test_tools::per_element());
  }
  const GradientReport report =
      check_gradients(called[0], {x, y}, {.feeds = feeds, .second_order = true});
  BOOST_TEST(report.max_relative_error < 1e-6, report.worst);
}

BOOST_AUTO_TEST_CASE(a_nested_call_may_use_one_operand_twice) {
  Graph g;
  define_function(
      g, "outer", {{"x", DType::f64, {"n"}}}, [](Graph& body, const std::vector<Value>& in) {
        define_function(
            body, "inner", {{"a", DType::f64, {"k"}}, {"b", DType::f64, {"k"}}},
            [](Graph&, const std::vector<Value>& v) { return std::vector<Value>{v[0] * v[1]}; });
        return std::vector<Value>{sum(call(body, "inner", {in[0], in[0]})[0])};
      });
  const Value x = g.input("x", DType::f64, {3});
  const Value d = gradient(call(g, "outer", {x})[0], x);
  BOOST_TEST(evaluate(g, d, {{"x", kPoint}}) == (std::vector<double>{1, -2, 4}),
             boost::test_tools::per_element());
}

// Each graph has its own function names, so a function inside a body may have the same name as any
// function of the caller.
BOOST_AUTO_TEST_CASE(a_nested_function_may_have_any_name) {
  for (const char* inside : {"f", "g", "inner"}) {
    Graph g;
    define_function(g, "g", {{"x", DType::f64, {"n"}}}, [](Graph&, const std::vector<Value>& in) {
      return std::vector<Value>{exp(in[0])};
    });
    define_function(g, "f", {{"x", DType::f64, {"n"}}},
                    [&](Graph& body, const std::vector<Value>& in) {
                      define_function(body, inside, {{"a", DType::f64, {"k"}}},
                                      [](Graph&, const std::vector<Value>& v) {
                                        return std::vector<Value>{v[0] * v[0] * v[0]};
                                      });
                      return std::vector<Value>{sum(call(body, inside, {in[0]})[0])};
                    });
    const Value x = g.input("x", DType::f64, {3});
    const Value y = call(g, "f", {x})[0] + sum(call(g, "g", {x})[0]);
    const GradientReport report =
        check_gradients(y, {x}, {.feeds = {{"x", kPoint}}, .second_order = true});
    BOOST_TEST(report.max_relative_error < 1e-6, inside << ": " << report.worst);
  }
}

BOOST_AUTO_TEST_CASE(a_custom_gradient_is_used) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  // Straight-through rounding: the gradient passes as if the values were not rounded. It is
  // multiplied by 10 to make the effect of the custom gradient visible.
  const auto forward = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{round(in[0])};
  };
  const auto backward = [](Graph&, const std::vector<Value>& in) {
    return std::vector<Value>{in[2] * 10.0};  // x, round(x), cotangent
  };
  const Value y = custom_gradient(g, "straight_through", {x}, forward, backward)[0];
  BOOST_TEST(evaluate(g, y, {{"x", kPoint}}) == (std::vector<double>{0, -1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(
      evaluate(g, gradient(sum(y * 3.0), x), {{"x", kPoint}}) == (std::vector<double>{30, 30, 30}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_custom_gradient_can_be_differentiated) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Value y = custom_gradient(
      g, "cube", {x},
      [](Graph&, const std::vector<Value>& in) {
        return std::vector<Value>{in[0] * in[0] * in[0]};
      },
      [](Graph&, const std::vector<Value>& in) {
        return std::vector<Value>{in[2] * 3.0 * in[0] * in[0]};
      })[0];
  const Value second = gradient(sum(gradient(sum(y), x)), x);
  const auto d = evaluate(g, second, {{"x", kPoint}});
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(d[i] == 6 * kPoint.at(i), boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
