// Errors that check_gradients detects without a tolerance, and cases that it accepts.
#include "weft/autodiff/check_gradients.h"

#include <boost/test/unit_test.hpp>

#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/testing/random_tensors.h"

namespace weft {
namespace {

using testing::normal_tensor;

// Returns x^3 with a gradient that is wrong by `factor` in one element.
Value cube(Graph& g, Value x, double factor) {
  return custom_gradient(
      g, "cube", {x},
      [](Graph&, const std::vector<Value>& in) {
        return std::vector<Value>{in[0] * in[0] * in[0]};
      },
      [factor](Graph& body, const std::vector<Value>& in) {
        Tensor scale = Tensor::full(DType::f32, {5}, 3);
        scale.mutable_data<float>()[4] = static_cast<float>(3 * factor);
        return std::vector<Value>{body.constant(scale) * in[0] * in[0] * in[2]};
      })[0];
}

GradientReport report_of(double factor, int directions) {
  Graph g;
  const Value x = g.input("x", DType::f32, {5}), y = g.input("y", DType::f32, {5});
  return check_gradients(sin(cube(g, x, factor)) * y, {x, y},
                         {.feeds = {{"x", normal_tensor({5}, 1)}, {"y", normal_tensor({5}, 2)}},
                          .directions = directions});
}

BOOST_AUTO_TEST_SUITE(gradient_checks)

BOOST_AUTO_TEST_CASE(relative_errors_of_one_thousandth_are_detected_without_a_tolerance) {
  BOOST_TEST(report_of(1, 0));
  for (const double factor : {1.001, 0.999, 1.00001}) {
    const GradientReport found = report_of(factor, 0);
    BOOST_TEST(!found);
    BOOST_TEST(
        found.message.find("first-order gradient of x[4] (1 of 5 elements are wrong): ") == 0u,
        found);
    BOOST_TEST(found.message.find(", but finite differences give ") != std::string::npos, found);
  }
}

BOOST_AUTO_TEST_CASE(directional_derivatives_detect_the_error_and_name_the_operand) {
  const GradientReport sound = report_of(1, 3);
  BOOST_TEST(sound);
  BOOST_TEST(sound.elements_checked == 3);
  const GradientReport found = report_of(1.001, 3);
  BOOST_TEST(!found);
  BOOST_TEST(found.message.find("first-order derivative along random direction 0: ") == 0u, found);
  BOOST_TEST(found.message.find("\n  along x alone: ") != std::string::npos, found);
  BOOST_TEST(found.message.find("along y alone") == std::string::npos, found);
}

// Small gradients are checked as precisely as the large gradients of another operand.
BOOST_AUTO_TEST_CASE(small_gradients_are_checked_next_to_large_ones) {
  Graph g;
  const Value x = g.input("x", DType::f64, {5});
  const Value y = sum(cube(g, cast(x, DType::f32), 1.001)) * 1e-9;
  BOOST_TEST(!check_gradients(y, {x}, {.feeds = {{"x", normal_tensor({5}, 1, DType::f64)}}}));
}

BOOST_AUTO_TEST_CASE(kinks_are_accepted_and_jumps_are_errors) {
  Graph g;
  const Value x = g.input("x", DType::f64, {4});
  const Tensor at = Tensor::of<double>({4}, {0, 1e-5, -1e-5, 2});
  // At 0, any slope between the left and right derivatives is correct. Near 0, the check must use
  // smaller steps.
  BOOST_TEST(check_gradients(relu(x), {x}, {.feeds = {{"x", at}}}));
  // The function has no slope at a jump.
  const Value jump = x + cast(less(x, 0.0), DType::f64);
  const GradientReport found = check_gradients(jump, {x}, {.feeds = {{"x", at}}});
  BOOST_TEST(!found);
  BOOST_TEST(
      found.message.find("gradient of x[0] (1 of 4 elements are wrong)") != std::string::npos,
      found);
}

BOOST_AUTO_TEST_CASE(a_check_without_elements_fails) {
  Graph g;
  const Value x = g.input("x", DType::f64, {0});
  const GradientReport found =
      check_gradients(sum(x), {x}, {.feeds = {{"x", Tensor::zeros(DType::f64, {0})}}});
  BOOST_TEST(found.message == "check_gradients: nothing to check, because no operand has elements");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
