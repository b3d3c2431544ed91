// Compares every optimizer with a scalar model in double precision and with well-known libraries.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/graph/functions.h"
#include "weft/tests/autodiff/optimizer_problem.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::kInfinity;
using testing::message_contains;
using testing::Problem;
using testing::ScalarParameter;
using testing::ScalarRule;
namespace tt = boost::test_tools;

constexpr int kSteps = 40;

// The settings of a training run that do not depend on the optimizer.
struct Scenario {
  const char* name;
  std::vector<double> scales = {1, 1, 1, 1};  // scales of the learning rate
  // If empty, weight decay is applied to matrices only, as configured by the options.
  std::vector<double> decays = {};
  double clip_norm = 0;
  std::vector<int> skipped = {};
};

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {.name = "default"},
      {.name = "groups", .scales = {1, 0.5, 3, 0.1}, .decays = {0.2, 0, 0.3, 0.7}},
      {.name = "clipped", .clip_norm = 0.8},
      {.name = "skipped", .clip_norm = 2, .skipped = {0, 7, 8, 39}},
  };
  return all;
}

struct Optimizer {
  const char* name;
  std::function<TrainingStep(const Loss&, const ParameterGroups&, const StepOptions&)> build;
  ScalarRule rule;
  double weight_decay;
  std::function<double(double t)> rate;
};

double constant_rate(double) { return 0.02; }
double falling_rate(double t) { return std::max(0.0, 0.03 * (1 - (t - 1) / 100)); }

std::vector<Optimizer> all_optimizers() {
  std::vector<Optimizer> all;
  const auto add = [&](const char* name, auto build, auto rule, auto options, auto rate) {
    const double decay = options.weight_decay;
    all.push_back({name,
                   [=](const Loss& loss, const ParameterGroups& groups, const StepOptions& step) {
                     auto with = options;
                     with.step = step;
                     return build(loss, groups, with, SourceLocation::current());
                   },
                   rule(options), decay, rate});
  };
  const Schedule falling = linear_schedule(0.03, 0, 100);
  add("sgd", sgd, testing::scalar_sgd, SgdOptions{.lr = 0.02, .weight_decay = 0.1}, constant_rate);
  add("momentum", sgd, testing::scalar_sgd, SgdOptions{.lr = falling, .momentum = 0.8},
      falling_rate);
  add("Nesterov", sgd, testing::scalar_sgd,
      SgdOptions{.lr = 0.02, .momentum = 0.8, .nesterov = true, .weight_decay = 0.1},
      constant_rate);
  add("adagrad", adagrad, testing::scalar_adagrad,
      AdagradOptions{.lr = falling, .eps = 1e-3, .weight_decay = 0.1}, falling_rate);
  add("adam", adam, testing::scalar_adam, AdamOptions{.lr = 0.02, .weight_decay = 0.1},
      constant_rate);
  add("adamw", adamw, testing::scalar_adamw, AdamWOptions{.lr = falling, .weight_decay = 0.1},
      falling_rate);
  add("adafactor", adafactor, testing::scalar_adafactor, AdafactorOptions{},
      [](double t) { return std::min(1e-2, 1 / std::sqrt(t)); });
  add("adafactor with warm-up", adafactor, testing::scalar_adafactor,
      AdafactorOptions{.lr = relative_step_size({.warmup_init = true})},
      [](double t) { return std::min(1e-6 * t, 1 / std::sqrt(t)); });
  add("adafactor with a schedule", adafactor, testing::scalar_adafactor,
      AdafactorOptions{.lr = falling, .scale_parameter = false, .weight_decay = 0.1}, falling_rate);
  add("adafactor with a moment", adafactor, testing::scalar_adafactor,
      AdafactorOptions{
          .lr = 0.02, .eps2 = 0.5, .clip_threshold = 0.4, .beta1 = 0.9, .weight_decay = 0.2},
      constant_rate);
  add("lion", lion, testing::scalar_lion,
      LionOptions{.lr = 0.02, .beta1 = 0.85, .beta2 = 0.97, .weight_decay = 0.1}, constant_rate);
  return all;
}

std::vector<ScalarParameter> scalar_run(const Optimizer& optimizer, const Scenario& scenario) {
  std::vector<ScalarParameter> all = testing::start_of_problem();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].learning_rate_scale = scenario.scales[i];
    all[i].weight_decay = !scenario.decays.empty() ? scenario.decays[i]
                          : all[i].is_matrix()     ? optimizer.weight_decay
                                                   : 0;
  }
  double t = 0;
  for (int step = 0; step < kSteps; ++step) {
    if (std::count(scenario.skipped.begin(), scenario.skipped.end(), step) != 0) continue;
    ++t;
    std::vector<std::vector<double>> gradients;
    double squares = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      gradients.push_back(testing::gradient_of(all, i, step));
      for (const double g : gradients.back()) squares += g * g;
    }
    const double clip = scenario.clip_norm > 0
                            ? std::min(1.0, scenario.clip_norm / (std::sqrt(squares) + 1e-6))
                            : 1.0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (double& g : gradients[i]) g *= clip;
      optimizer.rule(all[i], gradients[i], optimizer.rate(t) * all[i].learning_rate_scale, t);
    }
  }
  return all;
}

void check_scenario(const Optimizer& optimizer, const Scenario& scenario, DType dtype) {
  BOOST_TEST_CONTEXT(optimizer.name << ", " << scenario.name << ", " << dtype_name(dtype)) {
    Problem problem(dtype);
    std::vector<ParameterGroup> groups;
    for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
      groups.push_back({{problem.parameters[i]}, scenario.scales[i]});
      if (!scenario.decays.empty()) groups.back().weight_decay = scenario.decays[i];
    }
    Program train("train");
    train.update(optimizer.build(
        problem.loss, groups,
        {.clip_norm = scenario.clip_norm, .skip_nonfinite = !scenario.skipped.empty()}));
    Session session(problem.g, problem.store, {.threads = 1});
    for (int step = 0; step < kSteps; ++step) {
      const bool skip = std::count(scenario.skipped.begin(), scenario.skipped.end(), step) != 0;
      session.run(train, problem.feeds(step, skip ? kInfinity : 1));
    }
    const std::vector<ScalarParameter> expected = scalar_run(optimizer, scenario);
    const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
    for (const ScalarParameter& e : expected) {
      const Tensor actual = session.value(e.name);
      for (std::size_t i = 0; i < e.p.size(); ++i) {
        BOOST_TEST(std::abs(actual.at(static_cast<std::int64_t>(i)) - e.p[i]) < tolerance,
                   e.name << "[" << i << "] is " << actual.at(static_cast<std::int64_t>(i))
                          << " instead of " << e.p[i]);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(optimizer_rules)

BOOST_AUTO_TEST_CASE(every_optimizer_matches_its_scalar_model) {
  for (const Optimizer& optimizer : all_optimizers()) {
    for (const Scenario& scenario : scenarios()) {
      for (const DType dtype : {DType::f64, DType::f32}) check_scenario(optimizer, scenario, dtype);
    }
  }
}

// Converts the options in reference.json to one of our structs.
template <class Options>
Options read_options(const json& options, Options result) {
  const auto set = [&](const char* name, auto& value) {
    if (options.contains(name)) value = options.at(name).get<std::decay_t<decltype(value)>>();
  };
  if (options.contains("lr")) result.lr = options.at("lr").get<double>();
  set("weight_decay", result.weight_decay);
  if constexpr (requires { result.beta1; }) set("beta1", result.beta1);
  if constexpr (requires { result.beta2; }) set("beta2", result.beta2);
  if constexpr (requires { result.momentum; }) {
    set("momentum", result.momentum);
    set("nesterov", result.nesterov);
  }
  if constexpr (requires { result.scale_parameter; }) {
    set("scale_parameter", result.scale_parameter);
    set("clip_threshold", result.clip_threshold);
    set("decay_rate", result.decay_rate);
    if (options.value("warmup_init", false)) result.lr = relative_step_size({.warmup_init = true});
  }
  return result;
}

TrainingStep build_case(const json& c, const Problem& problem) {
  const std::string name = c.at("optimizer");
  const json& o = c.at("options");
  const std::vector<Variable>& p = problem.parameters;
  if (name == "sgd") return sgd(problem.loss, p, read_options(o, SgdOptions{}));
  if (name == "adam") return adam(problem.loss, p, read_options(o, AdamOptions{}));
  if (name == "adamw") return adamw(problem.loss, p, read_options(o, AdamWOptions{}));
  if (name == "adafactor") return adafactor(problem.loss, p, read_options(o, AdafactorOptions{}));
  BOOST_REQUIRE(name == "lion");
  return lion(problem.loss, p, read_options(o, LionOptions{}));
}

BOOST_AUTO_TEST_CASE(optimizers_match_pytorch_transformers_and_the_lion_authors) {
  std::ifstream file(std::string(WEFT_FIXTURES) + "/optimizers/reference.json");
  const json cases = json::parse(file);
  BOOST_TEST(cases.size() == 9u);
  for (const json& c : cases) {
    BOOST_TEST_CONTEXT(c.at("optimizer") << " " << c.at("options")) {
      Problem problem(DType::f64);
      Program train("train");
      train.update(build_case(c, problem));
      Session session(problem.g, problem.store, {.threads = 1});
      for (int step = 0; step < c.at("steps").get<int>(); ++step) {
        session.run(train, problem.feeds(step));
      }
      for (const auto& [name, expected] : c.at("final").items()) {
        const auto values = expected.get<std::vector<double>>();
        for (std::size_t i = 0; i < values.size(); ++i) {
          BOOST_TEST(session.value(name).at(static_cast<std::int64_t>(i)) == values[i],
                     tt::tolerance(1e-10));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(optimizer_state_has_the_names_used_in_saved_files) {
  const auto names = [](auto build, auto options) {
    Graph g;
    const Variable b = g.variable("b", DType::f32, {4}),
                   w = g.variable("net.w", DType::f32, {2, 3, 4});
    build(sum(w * b), {w, b}, options, SourceLocation::current());
    std::vector<std::string> result;
    for (const Variable& v : g.variables()) {
      if (v == w || v == b) continue;
      BOOST_TEST((v.info().kind == VariableKind::optimizer));
      result.push_back(v.name() + " " + v.value().type().str());
    }
    return result;
  };
  using Names = std::vector<std::string>;
  const std::string w = "optimizer.net.w.", b = "optimizer.b.", step = "optimizer.step i64[]";
  const std::string wide = " f32[2, 3, 4]", narrow = " f32[4]";
  BOOST_TEST(names(sgd, SgdOptions{}) == (Names{step}), tt::per_element());
  BOOST_TEST(names(sgd, SgdOptions{.momentum = 0.9}) ==
                 (Names{step, w + "velocity" + wide, b + "velocity" + narrow}),
             tt::per_element());
  BOOST_TEST(
      names(adagrad, AdagradOptions{}) == (Names{step, w + "sum" + wide, b + "sum" + narrow}),
      tt::per_element());
  const Names moments = {step, w + "m" + wide, w + "v" + wide, b + "m" + narrow, b + "v" + narrow};
  BOOST_TEST(names(adam, AdamOptions{}) == moments, tt::per_element());
  BOOST_TEST(names(adamw, AdamWOptions{}) == moments, tt::per_element());
  BOOST_TEST(names(lion, LionOptions{}) == (Names{step, w + "m" + wide, b + "m" + narrow}),
             tt::per_element());
  // Each matrix has one row factor and one column factor.
  BOOST_TEST(names(adafactor, AdafactorOptions{}) ==
                 (Names{step, w + "row f32[2, 3, 1]", w + "column f32[2, 1, 4]", b + "v" + narrow}),
             tt::per_element());
  BOOST_TEST(names(adafactor, AdafactorOptions{.beta1 = 0.9}) ==
                 (Names{step, w + "row f32[2, 3, 1]", w + "column f32[2, 1, 4]", w + "m" + wide,
                        b + "v" + narrow, b + "m" + narrow}),
             tt::per_element());
}

BOOST_AUTO_TEST_CASE(adafactor_and_lion_stay_finite_for_zero_and_huge_gradients) {
  for (const double scale : {0.0, 1e-18, 1e18}) {
    for (const bool is_lion : {false, true}) {
      Problem problem(DType::f32);
      Program train("train");
      train.update(is_lion ? lion(problem.loss, problem.parameters)
                           : adafactor(problem.loss, problem.parameters));
      Session session(problem.g, problem.store, {.threads = 1});
      for (int step = 0; step < 3; ++step) session.run(train, problem.feeds(step, scale));
      for (const ScalarParameter& start : testing::start_of_problem()) {
        const Tensor now = session.value(start.name);
        for (std::size_t i = 0; i < start.p.size(); ++i) {
          const double moved =
              std::abs(now.at(static_cast<std::int64_t>(i)) - static_cast<float>(start.p[i]));
          BOOST_TEST((scale == 0 ? moved == 0 : moved < 0.1), start.name << " moved " << moved);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_empty_parameter_has_finite_moments) {
  Graph g;
  const Variable empty = g.variable("empty", DType::f32, {0, 4}),
                 w = g.variable("w", DType::f32, {2}, {.initializer = Initializer::ones()});
  Program train("train");
  train.update(adafactor(sum(empty.value()) + sum(square(w)), {empty, w},
                         {.step = {.skip_nonfinite = true}}));
  Session session(g, {.threads = 1});
  session.run(train, {});
  for (const Variable& v : g.variables()) {
    const Tensor value = session.value(v.name());
    for (std::int64_t i = 0; i < num_elements(value.sizes()); ++i) {
      BOOST_TEST(std::isfinite(value.at(i)), v.name());
    }
  }
  BOOST_TEST(session.value("optimizer.step").item<std::int64_t>() == 1);
}

BOOST_AUTO_TEST_CASE(gradients_can_replace_the_loss) {
  const auto after = [](bool ready) {
    Problem problem(DType::f32);
    Program train("train");
    const std::vector<Variable>& p = problem.parameters;
    train.update(ready ? adafactor(gradients(problem.loss, p), p, {.beta1 = 0.9})
                       : adafactor(problem.loss, p, {.beta1 = 0.9}));
    Session session(problem.g, problem.store, {.threads = 1});
    for (int step = 0; step < 5; ++step) session.run(train, problem.feeds(step));
    return session.value("k").to_vector<float>();
  };
  BOOST_TEST(after(true) == after(false), tt::per_element());
}

BOOST_AUTO_TEST_CASE(a_custom_optimizer_needs_only_an_update_rule) {
  struct Options {
    Schedule lr = 0.5;
    double weight_decay = 0;
    Decay decay = Decay::matrices;
    StepOptions step = {};
  };
  Graph g;
  const Variable w = g.variable("w", DType::f64, {2}, {.initializer = Initializer::constant(3)});
  StepBuilder builder("signs", sum(w * 7.0), {w}, Options{}, SourceLocation::current());
  for (const StepBuilder::Parameter& p : builder.parameters()) {
    builder.update(p.variable, p.value() - builder.rate(p) * sign(p.gradient) / builder.t());
  }
  Program train("train");
  train.update(builder.finish());
  Session session(g, {.threads = 1});
  for (int step = 0; step < 2; ++step) session.run(train, {});
  BOOST_TEST(session.value("w").at(1) == 3 - 0.5 - 0.25);
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_options) {
  Problem problem(DType::f32);
  const std::vector<Variable>& p = problem.parameters;
  const Value loss = problem.loss;
  const std::size_t nodes = problem.g.node_count();
  const auto refuses = [&](auto&& build, std::vector<std::string> words) {
    BOOST_CHECK_EXCEPTION(build(), ArgumentError, message_contains(words));
  };
  refuses([&] { lion(loss, p, {.beta1 = 1}); }, {"lion: beta1 must be", "[0, 1)"});
  refuses([&] { lion(loss, p, {.beta2 = -0.1}); }, {"lion: beta2 must be", "[0, 1)"});
  refuses([&] { adam(loss, p, {.beta2 = NAN}); }, {"adam: beta2 must be", "[0, 1)"});
  refuses([&] { adafactor(loss, p, {.beta1 = 2}); }, {"adafactor: beta1 must be", "[0, 1)"});
  refuses([&] { adafactor(loss, p, {.eps1 = 0}); }, {"adafactor: eps1 must be", "positive"});
  refuses([&] { adafactor(loss, p, {.eps2 = -1}); }, {"adafactor: eps2 must be", "positive"});
  refuses([&] { adafactor(loss, p, {.clip_threshold = 0}); },
          {"clip_threshold must be", "positive"});
  refuses([&] { adafactor(loss, p, {.decay_rate = -0.8}); }, {"decay_rate must be", "positive"});
  refuses([&] { lion(loss, {Variable()}); }, {"lion: a parameter is undefined"});
  refuses([&] { lion(std::vector<Value>{}, p); }, {"lion: there are 0 gradients for 4 parameters"});
  BOOST_TEST(problem.g.node_count() == nodes);
}

BOOST_AUTO_TEST_CASE(errors_name_gradients_that_do_not_match_their_parameters) {
  Problem problem(DType::f32);
  const std::vector<Variable>& p = problem.parameters;
  std::vector<Value> grads = gradients(problem.loss, p);
  std::swap(grads[1], grads[2]);
  BOOST_CHECK_EXCEPTION(adamw(grads, p), ShapeError,
                        message_contains({"adamw: gradient 1 is f32[2, 3]", "'v' is f32[3]",
                                          "in the order of the groups"}));
  std::swap(grads[1], grads[2]);
  grads[3] = cast(grads[3], DType::f64);
  BOOST_CHECK_EXCEPTION(adamw(grads, p), DTypeError,
                        message_contains({"gradient 3 is f64[2, 3, 2]", "'k' is f32[2, 3, 2]"}));
}

BOOST_AUTO_TEST_CASE(errors_for_non_differentiable_losses_suggest_a_fix) {
  auto ops = std::make_shared<OpSet>(*builtin_ops());
  OpRecord negative = builtin_ops()->at("neg");
  negative.name = "home_made";
  ops->add(negative);
  Graph g(ops);
  const Variable w = g.variable("w", DType::f32, {3});
  const Value loss = sum(g.apply("home_made", {w.value()}).output(0));
  const std::size_t nodes = g.node_count();
  BOOST_CHECK_EXCEPTION(
      lion(loss, {w}), GradientError,
      message_contains({"op home_made has no gradient rule", "pass lion a custom rule",
                        "(StepOptions::gradients.rules)"}));
  BOOST_CHECK_EXCEPTION(lion(Value(), {w}), GradientError, message_contains({"undefined"}));
  Graph other;
  const Value elsewhere = sum(square(other.variable("w", DType::f32, {3})));
  BOOST_CHECK_EXCEPTION(lion(elsewhere, {w}), GraphError, message_contains({"another graph"}));
  BOOST_TEST(g.node_count() == nodes);
  BOOST_TEST(g.variables().size() == 1u);
  RuleSet rules = builtin_rules();
  rules.add("home_made",
            [](const GradientContext& c) { return std::vector<Value>{-c.cotangent()}; });
  const TrainingStep step = lion(gradients(loss, {w}, {.rules = &rules}), {w}, {.lr = 0.5});
  Program train("train");
  train.update(step);
  Session session(g, {.threads = 1});
  session.run(train, {});
  BOOST_TEST(session.value("w").at(2) == 0.5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
