// Branches and while loops.
#include "weft/graph/control/cond.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;
using Values = std::vector<Value>;

BOOST_AUTO_TEST_SUITE(branches)

BOOST_AUTO_TEST_CASE(only_one_branch_runs_and_has_gradients) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"n"}), w = g.input("w", DType::f64, {"n"});
  const Value on = g.input("on", DType::boolean, {});
  const Value y = cond(
      on, {x, w}, [](Graph&, const Values& in) { return Values{exp(in[0]) * in[1]}; },
      [](Graph&, const Values& in) { return Values{in[0] * in[0]}; })[0];
  const Tensor point = Tensor::of<double>({3}, {0.5, -1, 2});
  const Tensor other = Tensor::of<double>({3}, {1, 2, -3});
  Program program("p");
  program.output("y", y);
  const auto d = gradients(sum(y), {x, w}, {.unreachable = Unreachable::zeros});
  program.output("dx", d[0]).output("dw", d[1]);
  Session session(g, {.threads = 1, .verify = true, .poison = true});
  for (const bool taken : {true, false}) {
    const Tensor flag = Tensor::scalar(DType::boolean, taken ? 1 : 0);
    const NamedTensors feeds = {{"x", point}, {"w", other}, {"on", flag}};
    const Results r = session.run(program, feeds);
    for (int i = 0; i < 3; ++i) {
      const double a = point.at(i), b = other.at(i);
      BOOST_TEST(std::abs(r["y"].at(i) - (taken ? std::exp(a) * b : a * a)) < 1e-12);
      BOOST_TEST(std::abs(r["dx"].at(i) - (taken ? std::exp(a) * b : 2 * a)) < 1e-12);
      BOOST_TEST(std::abs(r["dw"].at(i) - (taken ? std::exp(a) : 0)) < 1e-12);
    }
    const GradientReport report =
        check_gradients(y, {x, w}, {.feeds = feeds, .second_order = true});
    BOOST_TEST(report.max_relative_error < 1e-6, report.worst);
  }
}

BOOST_AUTO_TEST_CASE(branch_errors_name_the_problem) {
  Graph g;
  const Value x = g.input("x", DType::f32, {3}), flag = g.input("on", DType::boolean, {});
  const auto same = [](Graph&, const Values& in) { return Values{in[0]}; };
  check_error<DTypeError>([&] { cond(x, {x}, same, same); },
                          {"predicate must be a bool scalar, but is f32[3]"});
  check_error<DTypeError>(
      [&] {
        cond(flag, {x}, same,
             [](Graph&, const Values& in) { return Values{cast(in[0], DType::f64)}; });
      },
      {"value 0 is f32[3] in one branch and f64[3] in the other"});
  check_error<ArgumentError>(
      [&] { cond(flag, {x}, same, [](Graph&, const Values& in) {
              return Values{in[0], in[0]};
            }); },
      {"one branch returns 1 values, but the other returns 2"});
  BOOST_TEST(g.functions().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(while_loops)

BOOST_AUTO_TEST_CASE(loops_run_until_the_condition_is_false_or_the_limit_is_reached) {
  Graph g;
  const Value x = g.input("x", DType::f64, {}), bound = g.input("bound", DType::f64, {});
  const auto loop = [&](std::int64_t limit) {
    return while_loop(
        g, {x, zeros_like(x)}, [](Graph&, const Values& in) { return Values{less(in[0], in[2])}; },
        [](Graph&, const Values& in) {
          return Values{in[0] * 2, in[1] + 1};
        },
        limit, {.operands = {bound}});
  };
  const auto free = loop(100), bounded = loop(3);
  Program program("p");
  program.output("x", free[0]).output("n", free[1]).output("n3", bounded[1]);
  Session session(g, {.threads = 1, .verify = true, .poison = true});
  for (const auto& [start, end, steps] :
       {std::tuple{1.0, 100.0, 7.0}, {200.0, 100.0, 0.0}, {99.0, 100.0, 1.0}}) {
    const Results r = session.run(program, {{"x", Tensor::scalar(DType::f64, start)},
                                            {"bound", Tensor::scalar(DType::f64, end)}});
    BOOST_TEST(r["n"].at(0) == steps);
    BOOST_TEST(r["x"].at(0) == start * std::pow(2.0, steps));
    BOOST_TEST(r["n3"].at(0) == std::min(steps, 3.0));
  }
}

BOOST_AUTO_TEST_CASE(while_loop_errors_name_the_problem) {
  Graph g;
  const Value x = g.input("x", DType::f32, {});
  const auto less_than = [](Graph&, const Values& in) { return Values{less(in[0], 5)}; };
  const auto next = [](Graph&, const Values& in) { return Values{in[0] + 1}; };
  check_error<GradientError>([&] { gradient(while_loop(g, {x}, less_than, next, 10)[0], x); },
                             {"while_loop has no gradient", "a scan over a fixed number of steps"});
  check_error<DTypeError>([&] { while_loop(g, {x}, next, next, 10); },
                          {"the result of the condition must be a bool scalar, but is f32[]"});
  check_error<ArgumentError>([&] { while_loop(g, {x}, less_than, next, -1); },
                             {"limit must not be negative, but is -1"});
  const Value key = g.key("k");
  const std::size_t functions = g.functions().size();
  check_error<GraphError>(
      [&] {
        while_loop(
            g, {x}, [&](Graph&, const Values& in) { return Values{in[0] < uniform(key, Shape{})}; },
            next, 10);
      },
      {"the condition draws random numbers; draw them in the body and carry them", "cond_test.cc"});
  check_error<ArgumentError>(
      [&] {
        while_loop(
            g, {x}, less_than,
            [&](Graph&, const Values& in) {
              return Values{in[0] + uniform(key, Shape{}), in[0]};
            },
            10);
      },
      {"the body returns 2 values, but there are 1 carries"});
  BOOST_TEST(g.functions().size() == functions);
}

// A key among the operands is folded with the number of the step.
BOOST_AUTO_TEST_CASE(every_step_of_a_while_loop_draws_different_numbers) {
  Graph g;
  const Value key = g.key("k"), x = g.input("x", DType::f32, {4});
  const auto body = [](Graph&, const Values& in) {
    return Values{in[1], uniform(in.back(), {4}), in[2] + 1};
  };
  const auto forever = [](Graph&, const Values& in) { return Values{in[2] < 100}; };
  const Value zero = zeros(g, DType::i64, {});
  Program p("p");
  for (const std::int64_t limit : {2, 3}) {
    const auto loop = while_loop(g, {x, x, zero}, forever, body, limit, {.operands = {key}});
    p.output(limit == 2 ? "a" : "b", loop[0]).output(limit == 2 ? "c" : "d", loop[1]);
  }
  const Results r = Session(g, {.threads = 1}).run(p, {{"x", Tensor::zeros(DType::f32, {4})}});
  for (int i = 0; i < 4; ++i) {
    BOOST_TEST(r["a"].at(i) != r["c"].at(i));
    BOOST_TEST(r["b"].at(i) != r["d"].at(i));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
