#include "weft/autodiff/optimizers/optimizers.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;
namespace tt = boost::test_tools;

// loss = sum((w - target)^2) + b * 3, for a 2x2 matrix w and a vector b with one element.
struct TwoVariables {
  Graph g;
  Variable w = g.variable("w", DType::f64, {2, 2}, {.initializer = Initializer::constant(0.5)});
  Variable b = g.variable("b", DType::f64, {1}, {.initializer = Initializer::constant(2)});
  Value target = g.constant(Tensor::of<double>({2, 2}, {1, -2, 3, 0.25}));
  Value loss = sum(square(w - target)) + sum(b * 3.0);

  // Returns the gradients with respect to w and b.
  static std::vector<double> gradient(const std::vector<double>& p) {
    const double t[] = {1, -2, 3, 0.25};
    std::vector<double> g;
    for (int i = 0; i < 4; ++i) g.push_back(2 * (p[i] - t[i]));
    g.push_back(3);
    return g;
  }
};

const std::vector<double> kStart = {0.5, 0.5, 0.5, 0.5, 2};

std::vector<double> run_steps(TwoVariables& problem, const Program& train, int steps) {
  Session session(problem.g, {.threads = 1});
  for (int i = 0; i < steps; ++i) session.run(train, {});
  std::vector<double> p = session.value("w").to_vector<double>();
  p.push_back(session.value("b").item<double>());
  return p;
}

void check_close(const std::vector<double>& actual, const std::vector<double>& expected) {
  BOOST_REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    BOOST_TEST(actual[i] == expected[i], tt::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_SUITE(optimizers)

BOOST_AUTO_TEST_CASE(sgd_supports_momentum_and_nesterov_momentum) {
  for (const bool nesterov : {false, true}) {
    TwoVariables problem;
    Program train("train");
    train.update(sgd(problem.loss, problem.g.parameters(),
                     {.lr = 0.1, .momentum = 0.9, .nesterov = nesterov, .weight_decay = 0.01}));
    std::vector<double> p = kStart, v(5);
    for (int step = 0; step < 4; ++step) {
      auto g = TwoVariables::gradient(p);
      for (int i = 0; i < 5; ++i) {
        if (i < 4) g[i] += 0.01 * p[i];  // weight decay applies to matrices only
        v[i] = 0.9 * v[i] + g[i];
        p[i] -= 0.1 * (nesterov ? g[i] + 0.9 * v[i] : v[i]);
      }
    }
    check_close(run_steps(problem, train, 4), p);
  }
}

BOOST_AUTO_TEST_CASE(adam_and_adamw_match_their_formulas) {
  for (const bool decoupled : {false, true}) {
    TwoVariables problem;
    const AdamOptions l2{.lr = 0.05, .beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1};
    const AdamWOptions w{.lr = 0.05, .beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1};
    Program train("train");
    train.update(decoupled ? adamw(problem.loss, problem.g.parameters(), w)
                           : adam(problem.loss, problem.g.parameters(), l2));
    std::vector<double> p = kStart, m(5), v(5);
    for (int t = 1; t <= 5; ++t) {
      auto g = TwoVariables::gradient(p);
      for (int i = 0; i < 5; ++i) {
        const double decay = i < 4 ? 0.1 : 0;
        if (!decoupled) g[i] += decay * p[i];
        m[i] = 0.9 * m[i] + 0.1 * g[i];
        v[i] = 0.95 * v[i] + 0.05 * g[i] * g[i];
        if (decoupled) p[i] *= 1 - 0.05 * decay;
        p[i] -= 0.05 / (1 - std::pow(0.9, t)) * m[i] /
                (std::sqrt(v[i]) / std::sqrt(1 - std::pow(0.95, t)) + 1e-8);
      }
    }
    check_close(run_steps(problem, train, 5), p);
  }
}

BOOST_AUTO_TEST_CASE(parameter_groups_scale_learning_rates_and_set_weight_decay) {
  TwoVariables problem;
  const std::vector<ParameterGroup> groups = {
      {.parameters = {problem.w}, .learning_rate_scale = 0.5, .weight_decay = 0.0},
      {.parameters = {problem.b}, .weight_decay = 0.2}};
  Program train("train");
  train.update(sgd(problem.loss, groups, {.lr = 0.1, .weight_decay = 7}));
  std::vector<double> p = kStart;
  auto g = TwoVariables::gradient(p);
  for (int i = 0; i < 4; ++i) p[i] -= 0.05 * g[i];
  p[4] -= 0.1 * (g[4] + 0.2 * p[4]);
  check_close(run_steps(problem, train, 1), p);
}

BOOST_AUTO_TEST_CASE(clipping_scales_gradients_by_the_global_norm) {
  TwoVariables problem;
  const TrainingStep step =
      sgd(problem.loss, problem.g.parameters(), {.lr = 1, .step = {.clip_norm = 1.5}});
  Program train("train");
  train.update(step).output("norm", step.gradient_norm).output("lr", step.learning_rate);
  const auto g = TwoVariables::gradient(kStart);
  double squares = 0;
  for (const double x : g) squares += x * x;
  Session session(problem.g, {.threads = 1});
  const Results results = session.run(train, {});
  BOOST_TEST(results["norm"].item<double>() == std::sqrt(squares), tt::tolerance(1e-13));
  BOOST_TEST(results["lr"].item<double>() == 1.0);
  const double scale = 1.5 / (std::sqrt(squares) + 1e-6);
  BOOST_TEST(session.value("b").item<double>() == 2 - scale * 3, tt::tolerance(1e-13));
}

// The squares of numbers near 1e20 overflow float32, so the norm is infinite and min(1, clip /
// norm) is 0. This must not produce NaN, and skip_nonfinite must skip the step.
BOOST_AUTO_TEST_CASE(finite_gradients_with_an_infinite_norm_change_no_parameters) {
  for (const bool skip : {false, true}) {
    Graph g;
    const Value scale = g.input("scale", DType::f32, {});
    const Variable w = g.variable("w", DType::f32, {3}, {.initializer = Initializer::constant(2)});
    const TrainingStep step =
        sgd(sum(w * scale), {w}, {.lr = 1, .step = {.clip_norm = 1, .skip_nonfinite = skip}});
    const Program train = Program("train").output("norm", step.gradient_norm).update(step);
    Session session(g, {.threads = 1});
    const Results r = session.run(train, {{"scale", Tensor::of<float>({}, {1e20f})}});
    BOOST_TEST(std::isinf(r["norm"].item<double>()));
    BOOST_TEST(session.value("w").to_vector<float>() == std::vector<float>(3, 2),
               tt::per_element());
    BOOST_TEST(session.value("optimizer.step").item<std::int64_t>() == (skip ? 0 : 1));
    session.run(train, {{"scale", Tensor::of<float>({}, {1e18f})}});
    BOOST_TEST(session.value("w").at(0) == 2 - 1 / std::sqrt(3.0), tt::tolerance(1e-5));
  }
}

BOOST_AUTO_TEST_CASE(a_step_with_nonfinite_gradients_can_be_skipped) {
  TwoVariables problem;
  const Value scale = problem.g.input("scale", DType::f64, {});
  Program train("train");
  train.update(adamw(problem.loss * scale, problem.g.parameters(),
                     {.lr = 0.1, .step = {.skip_nonfinite = true}}));
  Session session(problem.g, {.threads = 1});
  session.run(train, {{"scale", Tensor::scalar(DType::f64, 1)}});
  const Tensor w = session.value("w").clone(), m = session.value("optimizer.w.m").clone();
  session.run(train, {{"scale", Tensor::scalar(DType::f64, HUGE_VAL)}});
  BOOST_TEST(bitwise_equal(session.value("w"), w));
  BOOST_TEST(bitwise_equal(session.value("optimizer.w.m"), m));
  BOOST_TEST(session.value("optimizer.step").item<std::int64_t>() == 1);
}

BOOST_AUTO_TEST_CASE(schedules_match_their_formulas) {
  Graph g;
  const Value step = g.input("step", DType::f64, {});
  const auto at = [&](const Schedule& schedule, double s) {
    Program p("p");
    p.output("rate", schedule(step));
    Session session(g, {.threads = 1});
    return session.run(p, {{"step", Tensor::scalar(DType::f64, s)}})["rate"].item<double>();
  };
  BOOST_TEST(at(0.25, 7) == 0.25);
  const Schedule constant = constant_schedule(0.1, 4);
  BOOST_TEST(at(constant, 0) == 0.0);
  BOOST_TEST(at(constant, 1) == 0.025, tt::tolerance(1e-14));
  BOOST_TEST(at(constant, 9) == 0.1);
  const Schedule linear = linear_schedule(1, 2, 12, {.final = 0.2});
  BOOST_TEST(at(linear, 1) == 0.5, tt::tolerance(1e-14));
  BOOST_TEST(at(linear, 7) == 0.6, tt::tolerance(1e-14));
  BOOST_TEST(at(linear, 100) == 0.2, tt::tolerance(1e-14));
  const Schedule cosine = warmup_cosine(3e-3, 3, 10, {.final = 1e-4, .shift = 1});
  for (const double s : {0.0, 1.0, 2.0, 5.0, 9.0, 50.0}) {
    const double k = s + 1;
    const double phase = std::min(1.0, (k - 3) / 7);
    const double expected =
        k < 3 ? 3e-3 * k / 3
              : 1e-4 + (3e-3 - 1e-4) * 0.5 * (1 + std::cos(std::numbers::pi * phase));
    BOOST_TEST(at(cosine, s) == expected, tt::tolerance(1e-12));
  }
  const Schedule root = inverse_square_root(0.5, 4, {.shift = 1});
  BOOST_TEST(at(root, 1) == 0.25, tt::tolerance(1e-14));
  BOOST_TEST(at(root, 3) == 0.5, tt::tolerance(1e-14));
  BOOST_TEST(at(root, 35) == 0.5 * std::sqrt(4.0 / 36), tt::tolerance(1e-14));
  const Schedule relative = relative_step_size();
  BOOST_TEST(at(relative, 0) == 1e-2);
  BOOST_TEST(at(relative, 39999) == 5e-3, tt::tolerance(1e-14));
  const Schedule slow = relative_step_size({.warmup_init = true});
  BOOST_TEST(at(slow, 0) == 1e-6);
  BOOST_TEST(at(slow, 4999) == 5e-3, tt::tolerance(1e-14));
  BOOST_TEST(at(slow, 39999) == 5e-3, tt::tolerance(1e-14));
  BOOST_CHECK_EXCEPTION(inverse_square_root(1, 0), ArgumentError,
                        message_contains({"a positive warm-up", "warm-up is 0 and final is 0"}));
  BOOST_CHECK_EXCEPTION(warmup_cosine(1, 10, 10), ArgumentError,
                        message_contains({"warm-up of 10", "before the total of 10 steps"}));
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_arguments) {
  TwoVariables problem;
  const auto all = problem.g.parameters();
  BOOST_CHECK_EXCEPTION(
      adamw(problem.loss, std::vector<Variable>{}), ArgumentError,
      message_contains({"adamw: the parameter list is empty", "optimizer_test.cc"}));
  BOOST_CHECK_EXCEPTION(adamw(problem.loss, {problem.w, problem.w}), ArgumentError,
                        message_contains({"parameter 'w' is listed twice"}));
  BOOST_CHECK_EXCEPTION(adamw(problem.loss, all, {.beta1 = 1.5}), ArgumentError,
                        message_contains({"beta1 must be in [0, 1), but is 1.5"}));
  BOOST_CHECK_EXCEPTION(sgd(problem.loss, all, {.momentum = -0.5}), ArgumentError,
                        message_contains({"sgd: momentum must be in [0, 1), but is -0.5"}));
  BOOST_CHECK_EXCEPTION(sgd(problem.loss, all, {.nesterov = true}), ArgumentError,
                        message_contains({"Nesterov momentum needs momentum"}));
  sgd(problem.loss, all, {.step = {.scope = "optimizer"}});
  BOOST_CHECK_EXCEPTION(sgd(problem.loss, all, {.step = {.scope = "optimizer"}}), GraphError,
                        message_contains({"variable 'optimizer.step'", "already exists"}));
}

// Every numeric option of every optimizer, schedule and average, with values on both sides of its
// range.
BOOST_AUTO_TEST_CASE(numeric_options_out_of_range_are_rejected) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto rejects = [&](const std::string& text, std::initializer_list<double> values,
                           const std::function<void(const TwoVariables&, double)>& make) {
    for (const double value : values) {
      BOOST_TEST_CONTEXT(text << " = " << value) {
        TwoVariables problem;
        const std::size_t nodes = problem.g.node_count();
        BOOST_CHECK_EXCEPTION(
            make(problem, value), ArgumentError,
            message_contains({text, fmt::format("but is {}", value), "optimizer_test.cc:"}));
        BOOST_TEST(problem.g.node_count() == nodes);
      }
    }
  };
  const auto all = [&](const char* name, const auto& optimizer, auto options) {
    using Options = decltype(options);
    const auto step = [&](const TwoVariables& p, const std::function<void(Options&)>& set) {
      Options changed = options;
      set(changed);
      optimizer(p.loss, p.g.parameters(), changed, SourceLocation::current());
    };
    const auto option = [&](const char* field, std::initializer_list<double> values, auto member) {
      rejects(fmt::format("{}: {} must be", name, field), values,
              [&](const TwoVariables& p, double value) {
                step(p, [&](Options& o) { o.*member = value; });
              });
    };
    rejects(fmt::format("{}: clip_norm must be", name), {-1, nan, inf},
            [&](const TwoVariables& p, double value) {
              step(p, [&](Options& o) { o.step.clip_norm = value; });
            });
    rejects(
        "a constant learning rate must be", {-0.1, nan, inf},
        [&](const TwoVariables& p, double value) { step(p, [&](Options& o) { o.lr = value; }); });
    option("weight_decay", {-1, nan, inf}, &Options::weight_decay);
    if constexpr (requires { options.eps; }) option("eps", {-1, nan, inf}, &Options::eps);
    if constexpr (requires { options.beta1; })
      option("beta1", {-0.5, 1, 1.5, nan}, &Options::beta1);
    if constexpr (requires { options.beta2; })
      option("beta2", {-0.5, 1, 1.5, nan}, &Options::beta2);
    if constexpr (requires { options.momentum; }) {
      option("momentum", {-0.5, 1, 1.5, nan}, &Options::momentum);
    }
    if constexpr (requires { options.eps1; }) {
      option("eps1", {-1, 0, nan, inf}, &Options::eps1);
      option("eps2", {-1, 0, nan, inf}, &Options::eps2);
      option("clip_threshold", {-1, 0, nan, inf}, &Options::clip_threshold);
      option("decay_rate", {-1, 0, nan, inf}, &Options::decay_rate);
    }
    rejects("learning_rate_scale of parameter group 1 must be", {-1, nan, inf},
            [&](const TwoVariables& p, double value) {
              const ParameterGroups groups = {{.parameters = {p.w}},
                                              {.parameters = {p.b}, .learning_rate_scale = value}};
              optimizer(p.loss, groups, options, SourceLocation::current());
            });
    rejects("weight_decay of parameter group 0 must be", {-1, nan, inf},
            [&](const TwoVariables& p, double value) {
              const ParameterGroups groups = {{.parameters = {p.w}, .weight_decay = value}};
              optimizer(p.loss, groups, options, SourceLocation::current());
            });
  };
  all("sgd", sgd, SgdOptions{});
  all("adam", adam, AdamOptions{});
  all("adamw", adamw, AdamWOptions{});
  all("adagrad", adagrad, AdagradOptions{});
  all("adafactor", adafactor, AdafactorOptions{});
  all("lion", lion, LionOptions{});

  rejects("Ema: decay must be in [0, 1)", {-0.1, 1, nan},
          [](const TwoVariables& p, double value) { Ema(p.g.parameters(), {.decay = value}); });
  // A schedule of four numbers and its options.
  using Make = Schedule (*)(double base, double warmup, double total, const WarmupOptions& options);
  const Make schedules[] = {
      [](double base, double warmup, double, const WarmupOptions& o) {
        return constant_schedule(base, warmup, o);
      },
      [](double base, double warmup, double total, const WarmupOptions& o) {
        return linear_schedule(base, warmup, total, o);
      },
      [](double base, double warmup, double total, const WarmupOptions& o) {
        return warmup_cosine(base, warmup, total, o);
      },
      [](double base, double warmup, double, const WarmupOptions& o) {
        return inverse_square_root(base, warmup, o);
      },
  };
  for (const Make make : schedules) {
    const auto rejected = [&](const char* text, std::initializer_list<double> values,
                              const std::function<void(double)>& of) {
      rejects(text, values, [&](const TwoVariables&, double value) { of(value); });
    };
    rejected("base (the learning rate) must be", {-1, nan, inf},
             [&](double v) { make(v, 2, 10, {}); });
    rejected("warmup must be", {-1, nan, inf}, [&](double v) { make(1, v, 10, {}); });
    rejected("final must be", {-1, nan, inf}, [&](double v) { make(1, 2, 10, {.final = v}); });
    rejected("shift must be", {-1, nan, inf}, [&](double v) { make(1, 2, 10, {.shift = v}); });
  }
  for (const Make make : {schedules[1], schedules[2]}) {
    rejects("total must be", {-1, 0, nan, inf},
            [&](const TwoVariables&, double value) { make(1, 0, value, {}); });
  }
}

BOOST_AUTO_TEST_CASE(adam_has_no_weight_decay_by_default) {
  const auto after = [](const AdamOptions& options) {
    TwoVariables problem;
    Program train("train");
    train.update(adam(problem.loss, problem.g.parameters(), options));
    return run_steps(problem, train, 3);
  };
  BOOST_TEST(after({.lr = 1e-3}) == after({}), tt::per_element());
  BOOST_TEST(AdamOptions{}.weight_decay == 0);
  BOOST_TEST(AdamWOptions{}.weight_decay == 0.01);
}

BOOST_AUTO_TEST_CASE(a_failed_optimizer_leaves_the_graph_unchanged) {
  TwoVariables problem;
  Graph& g = problem.g;
  const auto all = g.parameters();
  // The name conflict occurs after the moments of w have been created.
  g.variable("optimizer.b.v", DType::f64, {1});
  const Schedule broken([](Value) -> Value { throw ArgumentError("no such rate"); });
  const Value rounded = sum(round(problem.w)), part = sum(problem.w);
  const std::size_t nodes = g.node_count(), variables = g.variables().size();
  const auto unchanged = [&] {
    BOOST_TEST(g.node_count() == nodes);
    BOOST_TEST(g.variables().size() == variables);
    BOOST_TEST(!g.has_variable("optimizer.step"));
  };
  BOOST_CHECK_THROW(adam(problem.loss, all), GraphError);
  unchanged();
  BOOST_CHECK_THROW(adamw(problem.loss, all, {.lr = broken}), ArgumentError);
  unchanged();
  BOOST_CHECK_THROW(sgd(problem.loss, all, {.lr = broken}), ArgumentError);
  unchanged();
  BOOST_CHECK_THROW(adamw(rounded, all), GradientError);
  unchanged();
  BOOST_CHECK_THROW(adamw(part, all), GradientError);
  unchanged();
  // A key that is created now must have a key_advance node of its own.
  const Variable key = g.key("dropout");
  BOOST_REQUIRE(g.advanced_key(key).defined());
  BOOST_TEST(g.advanced_key(key).node().op().name == "key_advance");
  // After the failure, the graph is intact, and another scope works.
  Program train("train");
  train.update(adam(problem.loss, all, {.step = {.scope = "second"}}));
  run_steps(problem, train, 1);
}

BOOST_AUTO_TEST_CASE(errors_suggest_valid_options) {
  TwoVariables problem;
  Graph& g = problem.g;
  const auto all = g.parameters();
  sgd(problem.loss, all, {.step = {.scope = "mine"}});
  BOOST_CHECK_EXCEPTION(
      adamw(problem.loss, all, {.step = {.scope = "mine"}}), GraphError,
      message_contains({"adamw", "'mine.step'", "leave StepOptions::scope", "(now 'mine')"}));
  BOOST_CHECK_EXCEPTION(adamw(sum(problem.w.value()), all), GradientError,
                        message_contains({"adamw: ",
                                          "leave it out of the parameters, or request zeros "
                                          "(StepOptions::gradients.unreachable)"}));
  BOOST_CHECK_EXCEPTION(adamw(gradients(problem.loss, all), all,
                              {.step = {.gradients = {.unreachable = Unreachable::zeros}}}),
                        ArgumentError,
                        message_contains({"adamw: StepOptions::gradients sets how the loss is "
                                          "differentiated, but gradients were passed instead"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
