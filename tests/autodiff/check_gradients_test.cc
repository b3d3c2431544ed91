// Errors that check_gradients detects without a tolerance, and cases that it accepts.
#include "weft/autodiff/check_gradients.h"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "weft/autodiff/retype.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
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

// Gradient rules contain numbers such as 2 / sqrt(pi), which a float graph rounds. The check in
// double precision uses the numbers before rounding.
BOOST_AUTO_TEST_CASE(rules_with_numbers_that_a_float_cannot_represent_pass_in_a_float_graph) {
  using Values = std::vector<Value>;
  const auto in_scan = [](Value x) {
    const ScanResult loop =
        scan(x.graph(), {x}, {}, {},
             [](Graph&, const ScanElements& in) { return ScanStep{{gelu(in.carries[0]) * 1.1}}; },
             {.length = 3});
    return loop.carries[0];
  };
  const auto in_branch = [](Value x) {
    return cond(
        sum(x) > 1e6, {x}, [](Graph&, const Values& in) { return Values{in[0] * 0.1}; },
        [](Graph&, const Values& in) { return Values{erf(in[0] / 3)}; })[0];
  };
  const std::pair<const char*, std::function<Value(Value)>> functions[] = {
      {"erf", [](Value x) { return erf(x); }},
      {"erfinv", [](Value x) { return erfinv(x * 0.2); }},
      {"gelu", [](Value x) { return gelu(x); }},
      {"gelu_tanh", [](Value x) { return gelu_tanh(x); }},
      {"two layers of gelu", [](Value x) { return mean(square(gelu(gelu(x) * 0.7) - 1)); }},
      {"quick_gelu", [](Value x) { return quick_gelu(x); }},
      {"silu", [](Value x) { return silu(x); }},
      {"mish", [](Value x) { return mish(x); }},
      {"softplus", [](Value x) { return softplus(x); }},
      {"hardswish", [](Value x) { return hardswish(x); }},
      {"elu", [](Value x) { return elu(x, 1.3); }},
      {"leaky_relu", [](Value x) { return leaky_relu(x, 0.1); }},
      {"clamp", [](Value x) { return clamp(x, -0.3, 0.7); }},
      {"pow", [](Value x) { return pow(exp(x), 1.0 / 3); }},
      {"layer_norm", [](Value x) { return layer_norm(x, {}, {}, {.eps = 0.1}); }},
      {"rms_norm", [](Value x) { return rms_norm(x, {}, 0.1); }},
      {"batch_norm",
       [](Value x) {
         const Value old = full(x.graph(), x.dtype(), {7}, 0.3);
         const BatchNorm n = batch_norm(x, old, old, {}, {}, {.momentum = 0.1, .eps = 0.1});
         return n.out * 0.9;
       }},
      {"cross_entropy",
       [](Value x) {
         const Value t = x.graph().constant(Tensor::of<std::int64_t>({3}, {0, 4, 2}));
         return cross_entropy(x, t, {.label_smoothing = 0.1});
       }},
      {"rope",
       [](Value x) {
         return rope(reshape(concat({x, x}, 1), {1, 1, 3, 14}), arange(x.graph(), Dim(3)));
       }},
      {"a loop", in_scan},
      {"a branch", in_branch},
  };
  for (const auto& [name, function] : functions) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      Graph g;
      const Value x = g.input("x", dtype, {3, 7});
      const GradientReport found = check_gradients(
          function(x), {x},
          {.feeds = {{"x", normal_tensor({3, 7}, 1).to(dtype)}}, .second_order = true});
      BOOST_TEST(found, name << ", " << dtype_name(dtype) << ": " << found.message);
    }
  }
}

// The number of a literal is part of a copy of the graph, but not of the identity of its node.
BOOST_AUTO_TEST_CASE(copies_in_double_precision_use_numbers_before_rounding) {
  Graph g;
  const Value x = g.input("x", DType::f32, {});
  const Value rounded = x * 0.1f, exact = x * 0.1;
  BOOST_TEST((rounded == exact));
  const auto value_of = [](const Program& p) {
    Session session(*p.graph(), {.threads = 1});
    const DType dtype = p.inputs()[0].dtype();
    return session.run(p, {{"x", Tensor::scalar(dtype, 1)}})["y"].item<double>();
  };
  const Module inlined = clone_program(Program("p").output("y", cast(exact, DType::f64)));
  BOOST_TEST(value_of(inlined.program) == static_cast<double>(0.1f));
  BOOST_TEST(value_of(retype(inlined.program).program) == 0.1);
}

// Steps of finite differences are smaller than the gaps between numbers of a narrow dtype.
BOOST_AUTO_TEST_CASE(programs_with_narrow_dtypes_are_checked_in_double) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const double factor : {1.0, 1.001}) {
      Graph g;
      const Value x = g.input("x", DType::f32, {"batch", 3});
      const Variable w = g.variable("w", dtype, {3, 3}, {.initializer = Initializer::normal(0.5)});
      const Value rounded = cast(cast(x * 0.1, dtype), DType::f32);
      const Value y = matmul(rounded, cast(w, DType::f32));
      const Value z =
          factor == 1 ? tanh(y) : tanh(stop_gradient(y) + factor * (y - stop_gradient(y)));
      const GradientReport report =
          check_gradients(z, {x, w}, {.feeds = {{"x", testing::normal_tensor({4, 3}, 1)}}});
      BOOST_TEST(report.passed == (factor == 1), report);
    }
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

BOOST_AUTO_TEST_CASE(one_output_is_checked_for_operands_of_different_shapes) {
  Graph g;
  const Value a = g.input("a", DType::f64, {3});
  const Value b = g.input("b", DType::f64, {2, 1});
  const Value y = tanh(a) * b * b;
  const GradientCheckOptions options{.feeds = {{"a", normal_tensor({3}, 1).to(DType::f64)},
                                               {"b", normal_tensor({2, 1}, 2).to(DType::f64)}},
                                     .second_order = true};
  BOOST_TEST(check_gradients(y, {a}, options));
  BOOST_TEST(check_gradients(y, {b}, options));
  BOOST_TEST(check_gradients(y, {a, b}, options));
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
