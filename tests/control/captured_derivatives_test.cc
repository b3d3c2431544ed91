// Derivatives and functions in the bodies of loops and branches.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/derivatives.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::check_error;
using Values = std::vector<Value>;

Tensor small_tensor(std::uint64_t seed) { return normal_tensor({3}, seed).to(DType::f64); }

BOOST_AUTO_TEST_SUITE(captured_derivatives)

BOOST_AUTO_TEST_CASE(gradients_can_be_taken_inside_of_bodies) {
  Graph g;
  const Value q = g.input("q", DType::f64, {3}), a = g.input("a", DType::f64, {3});
  const Value outside = sum(a * a * a);
  // Gradient descent in the loop, with respect to the carry and to a captured value.
  const ScanResult r =
      scan(g, {q}, {}, {},
           [&](Graph&, const ScanElements& in) {
             const Value energy = sum(sin(in.carries[0]) * a * a);
             const auto d = gradients(energy, {in.carries[0], a});
             // Does not depend on the body.
             const Value slope = gradient(outside, a);
             return ScanStep{{in.carries[0] - 0.1 * d[0] + 0.01 * d[1] + 0.001 * slope}};
           },
           {.length = 4});
  const NamedTensors feeds = {{"q", small_tensor(1)}, {"a", small_tensor(2)}};
  const GradientReport report =
      check_gradients(sum(square(r.carries[0])), {q, a}, {.feeds = feeds, .second_order = true});
  BOOST_TEST(report);
  Value state = q;
  for (int i = 0; i < 4; ++i) {
    state = state - 0.1 * (cos(state) * a * a) + 0.01 * (2 * sin(state) * a) + 0.001 * (3 * a * a);
  }
  const Results y =
      Session(g, {.threads = 1})
          .run(Program("p").output("loop", r.carries[0]).output("flat", state), feeds);
  BOOST_TEST(testing::max_difference(y["loop"], y["flat"]) < 1e-14);
}

BOOST_AUTO_TEST_CASE(jacobians_can_be_computed_inside_of_bodies) {
  Graph g;
  const Value q = g.input("q", DType::f64, {"n"}), a = g.input("a", DType::f64, {"n"});
  const Value outside = a * a * a;
  const ScanResult r =
      scan(g, {q}, {}, {},
           [&](Graph&, const ScanElements& in) {
             const Value f = sin(in.carries[0]) * a * a;
             return ScanStep{{in.carries[0] + 1},
                             {jacobian(f, a), jacobian(f, in.carries[0]), jacobian(outside, a),
                              hessian(sum(f), a), jvp(f, {a}, {a}), vjp(f, {a}, in.carries[0])[0]}};
           },
           {.length = 2});
  const Program p = Program("p")
                        .output("a", r.outputs[0])
                        .output("q", r.outputs[1])
                        .output("outside", r.outputs[2])
                        .output("hessian", r.outputs[3])
                        .output("jvp", r.outputs[4])
                        .output("vjp", r.outputs[5]);
  const Tensor qs = small_tensor(1), as = small_tensor(2);
  const Results y = Session(g, {.threads = 1, .verify = true}).run(p, {{"q", qs}, {"a", as}});
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < 3; ++i) {
      const double c = qs.at(i) + step, b = as.at(i), slope = 2 * std::sin(c) * b;
      BOOST_TEST(std::abs(y["jvp"].at(step * 3 + i) - slope * b) < 1e-12);
      BOOST_TEST(std::abs(y["vjp"].at(step * 3 + i) - slope * c) < 1e-12);
      for (int k = 0; k < 3; ++k) {
        const auto at = [&](const char* name) { return y[name].at((step * 3 + i) * 3 + k); };
        BOOST_TEST(std::abs(at("a") - (i == k ? slope : 0)) < 1e-12);
        BOOST_TEST(std::abs(at("q") - (i == k ? std::cos(c) * b * b : 0)) < 1e-12);
        BOOST_TEST(std::abs(at("outside") - (i == k ? 3 * b * b : 0)) < 1e-12);
        BOOST_TEST(std::abs(at("hessian") - (i == k ? 2 * std::sin(c) : 0)) < 1e-12);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(bodies_call_functions_of_the_graph_around_them) {
  Graph g;
  define_function(g, "f", {{"x", DType::f64, {"n"}}},
                  [](Graph&, const Values& in) { return Values{in[0] * 2 + 1}; });
  const Value h = g.input("h", DType::f64, {3});
  const ScanResult r = scan(g, {h}, {}, {},
                            [&](Graph& body, const ScanElements& in) {
                              const Value once = call(body, "f", {in.carries[0]})[0];
                              return ScanStep{{call(g, "f", {once})[0] + call(g, "f", {h})[0]}};
                            },
                            {.length = 1});
  const Program p =
      Program("p").output("y", r.carries[0]).output("d", gradient(sum(r.carries[0]), h));
  const Results y = Session(g, {.threads = 1}).run(p, {{"h", Tensor::of<double>({3}, {1, 2, 3})}});
  BOOST_TEST(y["y"].at(2) == 2 * (2 * 3 + 1) + 1 + 7);
  BOOST_TEST(y["d"].at(0) == 6);
}

BOOST_AUTO_TEST_CASE(custom_gradients_can_be_used_in_bodies) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), w = g.input("w", DType::f64, {3});
  const ScanResult r = scan(
      g, {x}, {}, {},
      [&](Graph&, const ScanElements& in) {
        return ScanStep{custom_gradient(
            g, "f", {in.carries[0], w}, [](Graph&, const Values& v) { return Values{v[0] * v[1]}; },
            [](Graph&, const Values& v) {
              return Values{v[3] * 2, v[3] * 3};
            })};
      },
      {.length = 2});
  const Value loss = sum(r.carries[0]);
  const auto d = gradients(loss, {x, w});
  const Results y =
      Session(g, {.threads = 1})
          .run(Program("p").output("y", r.carries[0]).output("dx", d[0]).output("dw", d[1]),
               {{"x", Tensor::full(DType::f64, {3}, 3)}, {"w", Tensor::full(DType::f64, {3}, 2)}});
  BOOST_TEST(y["y"].at(0) == 12);
  BOOST_TEST(y["dx"].at(0) == 4);
  BOOST_TEST(y["dw"].at(0) == 9);
}

BOOST_AUTO_TEST_CASE(branches_in_functions_capture_values_of_the_function_only) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), w = g.input("w", DType::f64, {3});
  const auto define = [&](const char* name, const FunctionBuilder& branch) {
    define_function(g, name, {{"x", DType::f64, {"n"}}}, [&](Graph&, const Values& in) {
      const auto same = [&](Graph&, const Values&) { return in; };
      const Value twice = in[0] * 2;
      const auto then = [&](Graph& body, const Values&) { return branch(body, {twice}); };
      return cond(sum(in[0]) > 0, {}, then, same);
    });
  };
  define("f", [](Graph&, const Values& in) { return in; });
  const Value y = call(g, "f", {x})[0];
  const Results r = Session(g, {.threads = 1})
                        .run(Program("p").output("y", y).output("d", gradient(sum(y), x)),
                             {{"x", Tensor::full(DType::f64, {3}, 3)}});
  BOOST_TEST(r["y"].at(0) == 6);
  BOOST_TEST(r["d"].at(0) == 2);
  check_error<GraphError>([&] { define("a", [&](Graph&, const Values&) { return Values{w}; }); },
                          {"belongs to another graph; function 'a' is closed", "input 'w'"});
  check_error<GraphError>(
      [&] {
        define("b", [&](Graph& body, const Values& in) {
          return Values{dropout(in[0], 0.5, body.key("dropout"))};
        });
      },
      {"variable 'dropout' cannot be declared in function 'b'", "pass it as an operand"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
