// Elementwise functions and operators: values, types, literals, and error messages with the source
// line of the caller.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

/// Applies a function to a single number.
double value_of(const std::function<Value(Value)>& function, double x) {
  Graph g;
  const Value in = g.input("x", DType::f64, {});
  return evaluate_graph({function(in)}, {{in, Tensor::scalar(DType::f64, x)}})[0].item<double>();
}

/// Returns this file and the line of the caller, as they appear in error messages.
std::string here(int line = __builtin_LINE()) {
  return "elementwise_functions_test.cc:" + std::to_string(line);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(elementwise_functions)

BOOST_AUTO_TEST_CASE(operators_compute_the_expected_values) {
  BOOST_TEST(value_of([](Value x) { return x + 2; }, 3) == 5);
  BOOST_TEST(value_of([](Value x) { return 2 - x; }, 3) == -1);
  BOOST_TEST(value_of([](Value x) { return -x * 2.5; }, 3) == -7.5);
  BOOST_TEST(value_of([](Value x) { return 1 / x; }, 4) == 0.25);
  BOOST_TEST(value_of([](Value x) { return pow(x, 2) + pow(2, x); }, 3) == 17);
  BOOST_TEST(value_of([](Value x) { return maximum(x, 1) - minimum(x, 1); }, 3) == 2);
  BOOST_TEST(value_of([](Value x) { return where(x > 0, x, -1); }, -3) == -1);
  BOOST_TEST(value_of([](Value x) { return cast(logical_and(x >= 3, x <= 3), DType::f64); }, 3) ==
             1);
  BOOST_TEST(value_of([](Value x) { return cast(logical_xor(x < 3, not_equal(x, 3)), DType::f64); },
                      3) == 0);
  const auto compound = [](Value x) {
    x += 1;
    x *= x;
    x -= 0.5;
    x /= 2;
    return x;
  };
  BOOST_TEST(value_of(compound, 2) == 4.25);
}

BOOST_AUTO_TEST_CASE(composite_functions_compute_the_expected_values) {
  const double x = -1.3;
  BOOST_TEST(value_of([](Value v) { return leaky_relu(v); }, x) == 0.01 * x);
  BOOST_TEST(value_of([](Value v) { return leaky_relu(v, 0.2); }, 2) == 2);
  BOOST_TEST(value_of([](Value v) { return elu(v, 0.5); }, x) == 0.5 * std::expm1(x),
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(value_of([](Value v) { return elu(v); }, 1000) == 1000);
  BOOST_TEST(value_of([](Value v) { return quick_gelu(v); }, x) == x / (1 + std::exp(-1.702 * x)),
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(value_of([](Value v) { return hardswish(v); }, -3.5) == 0);
  BOOST_TEST(value_of([](Value v) { return hardswish(v); }, 1.5) == 1.125);
  BOOST_TEST(value_of([](Value v) { return hardswish(v); }, 3.5) == 3.5);
  BOOST_TEST(value_of([](Value v) { return mish(v); }, x) == x * std::tanh(std::log1p(std::exp(x))),
             boost::test_tools::tolerance(1e-14));
  BOOST_TEST(
      value_of([](Value v) { return gelu(v); }, x) == 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))),
      boost::test_tools::tolerance(1e-14));
  BOOST_TEST(std::abs(value_of([](Value v) { return gelu(v) - gelu(v, GeluForm::tanh); }, x)) <
             5e-4);
  BOOST_TEST(value_of([](Value v) { return clamp(v, std::nullopt, -2); }, x) == -2);
  BOOST_TEST(value_of([](Value v) { return clamp(v, 0); }, x) == 0);
}

BOOST_AUTO_TEST_CASE(types_and_broadcasting_follow_the_rules) {
  Graph g;
  const Value a = g.input("a", DType::f32, {"batch", 1, 4}), b = g.input("b", DType::f32, {3, 1});
  BOOST_TEST((a + b).type().str() == "f32[batch, 3, 4]");
  BOOST_TEST((a < b).type().str() == "bool[batch, 3, 4]");
  BOOST_TEST(isfinite(a).type().str() == "bool[batch, 1, 4]");
  BOOST_TEST(cast(a, DType::bf16).type().str() == "bf16[batch, 1, 4]");
  BOOST_TEST((cast(a, DType::f32) == a));
  BOOST_TEST(where(a > 0, 1, b).type().str() == "f32[batch, 3, 4]");
  // Handles are compared by identity, and equal nodes are shared.
  BOOST_TEST((a + b == a + b));
  BOOST_TEST((stop_gradient(a) != a));
}

BOOST_AUTO_TEST_CASE(dims_keep_their_own_operators) {
  Graph g;
  const Dim batch = g.dim("batch");
  BOOST_TEST((2 * batch + 1 - batch).str() == "batch + 1");
  BOOST_TEST(bool(-batch == batch - 2 * batch));
}

BOOST_AUTO_TEST_CASE(literals_adopt_the_dtype_of_the_tensor) {
  Graph g;
  const Value ids = g.input("ids", DType::i32, {"n"}), x = g.input("x", DType::f64, {});
  BOOST_TEST((ids + 1).type().str() == "i32[n]");
  BOOST_TEST((0.1 * x).type().str() == "f64[]");
  BOOST_TEST((ids * 2.0).type().str() == "i32[n]");
  BOOST_CHECK_EXCEPTION(ids * 0.5, DTypeError,
                        message_contains({"mul", "0.5 cannot be stored as i32", here()}));
  const Value bytes = g.input("bytes", DType::u8, {});
  BOOST_CHECK_EXCEPTION(bytes + 256, DTypeError,
                        message_contains({"256 does not fit into u8", here()}));
  const Value longs = g.input("longs", DType::i64, {});
  for (const std::int64_t n :
       {(std::int64_t{1} << 53) + 1, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    const Node& constant = (longs + n).node().input(1).node();
    BOOST_TEST(constant.attributes().tensor("value").item<std::int64_t>() == n);
  }
  BOOST_CHECK_EXCEPTION(longs + (std::uint64_t{1} << 63), DTypeError,
                        message_contains({"does not fit into i64", here()}));
  BOOST_CHECK_EXCEPTION(longs + 0x1p63, DTypeError,
                        message_contains({"does not fit into i64", here()}));
  BOOST_CHECK_EXCEPTION(
      add(1, 2), ArgumentError,
      message_contains(
          {"add: one operand must be a tensor, but both are numbers, 1 and 2", here()}));
  BOOST_CHECK_EXCEPTION(exp(2), ArgumentError,
                        message_contains({"exp: expected a tensor, but got the number 2", here()}));
}

BOOST_AUTO_TEST_CASE(errors_name_the_op_the_types_and_the_source_line) {
  Graph g, other;
  const Value a = g.input("a", DType::f32, {2, 3}), b = g.input("b", DType::f32, {4});
  BOOST_CHECK_EXCEPTION(
      a + b, ShapeError,
      message_contains({"add", "f32[2, 3]", "f32[4]", "do not broadcast", here()}));
  BOOST_CHECK_EXCEPTION(where(a, a, a), DTypeError,
                        message_contains({"where", "c must be bool, but is f32", here()}));
  const Value ids = g.input("ids", DType::i64, {3});
  BOOST_CHECK_EXCEPTION(a * ids, DTypeError, message_contains({"f32 and i64", "cast()", here()}));
  BOOST_CHECK_EXCEPTION(tanh(ids), DTypeError,
                        message_contains({"x must be f32 or f64, but is i64", here()}));
  BOOST_CHECK_EXCEPTION(clamp(a, 2, 1), ArgumentError,
                        message_contains({"lo must be at most hi", here()}));
  BOOST_CHECK_EXCEPTION(-Value(), GraphError,
                        message_contains({"neg: expected a tensor, but got an undefined Value"}));
  BOOST_CHECK_EXCEPTION(a + other.input("c", DType::f32, {3}), GraphError,
                        message_contains({here()}));
  Value sum = a;
  BOOST_CHECK_EXCEPTION(sum += b, ShapeError, message_contains({"add", here()}));
  // For an error inside a composite function, the message also names the line of the caller.
  BOOST_CHECK_EXCEPTION(elu(ids), DTypeError, message_contains({"elu", here()}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
