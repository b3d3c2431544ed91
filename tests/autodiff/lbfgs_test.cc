// L-BFGS and its line search.
#include "weft/autodiff/optimizers/lbfgs.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "weft/autodiff/optimizers/line_search.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/safetensors.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/shards/on_ranks.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;
namespace tt = boost::test_tools;

// The problems of tests/fixtures/optimizers/lbfgs.py.
Value rosenbrock(Value x) {
  const Value first = slice(x, 0, {.end = -1}), next = slice(x, 0, {.begin = 1});
  return sum(100.0 * square(next - square(first)) + square(1.0 - first));
}

Value quadratic(Value x) {
  const std::int64_t n = x.size(0).constant();
  const Value i = cast(arange(x.graph(), n), DType::f64);
  const Value c = exp(i * (3 * std::log(10.0) / static_cast<double>(n - 1)));
  return 0.5 * sum(c * square(x - sin(i)));
}

Value logistic(Value x) {
  const Value i = cast(arange(x.graph(), 40), DType::f64);
  const Value data = stack({sin(1.0 + 1.3 * i), cos(0.7 * i), sin(0.4 * i * i)}, 1);
  const Value labels = cast(greater(sin(2.1 * i) + select(data, 1, 0), 0.0), DType::f64);
  const Value weights = slice(x, 0, {.end = 3});
  const Value scores = squeeze(matmul(data, unsqueeze(weights, 1)), {1}) + select(x, 0, 3);
  return bce_with_logits(scores, labels) + 0.005 * sum(square(weights));
}

// One vector parameter "x" with a loss.
struct OneVector {
  OneVector(const std::vector<double>& start, const std::function<Value(Value)>& function,
            DType dtype = DType::f64)
      : x(g.variable("x", dtype, {static_cast<std::int64_t>(start.size())})),
        loss(function(x)),
        session(g, {.threads = 1}) {
    session.set_value("x", Tensor::of<double>({std::ssize(start)}, start).to(dtype));
  }
  std::vector<double> values() { return session.value("x").to(DType::f64).to_vector<double>(); }
  double loss_now() { return session.run(Program("loss").output("loss", loss))["loss"].at(0); }

  Graph g;
  Variable x;
  Value loss;
  Session session;
};

// A regression with a small network.
struct Regression {
  explicit Regression(const SessionOptions& options = {.seed = 3, .threads = 1})
      : session(g, options) {}
  Graph g;
  Scope net = Scope(g, "net");
  Value x = g.input("x", DType::f32, {"batch", 3}), y = g.input("y", DType::f32, {"batch", 2});
  Value output = linear(net / "out", tanh(linear(net / "hidden", x, 9)), 2);
  Value loss = mse(output, y);
  Session session;
  NamedTensors feeds = {{"x", normal_tensor({64, 3}, 1)}, {"y", normal_tensor({64, 2}, 2)}};
};

BOOST_AUTO_TEST_SUITE(lbfgs)

BOOST_AUTO_TEST_CASE(minima_and_numbers_of_evaluations_match_pytorch) {
  std::ifstream file(WEFT_FIXTURES "/optimizers/lbfgs.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  const std::map<std::string, std::pair<std::vector<double>, std::function<Value(Value)>>> all = {
      {"rosenbrock2", {{-1.2, 1}, rosenbrock}},
      {"rosenbrock10", {{-1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1}, rosenbrock}},
      {"quadratic", {std::vector<double>(50, 0.0), quadratic}},
      {"logistic", {std::vector<double>(4, 0.0), logistic}}};
  BOOST_TEST(cases.size() == all.size());
  for (const nlohmann::json& wanted : cases) {
    const std::string name = wanted["name"];
    BOOST_TEST_CONTEXT(name) {
      OneVector problem(all.at(name).first, all.at(name).second);
      const LbfgsResult result =
          minimize(problem.session, problem.loss, {problem.x}, {},
                   {.max_iterations = 2000, .gradient_tolerance = 1e-7, .change_tolerance = 0});
      BOOST_TEST_MESSAGE(name << ": " << result.str() << "; PyTorch: " << wanted["evaluations"]);
      BOOST_TEST((result.status == LbfgsStatus::gradient_converged), result.str());
      BOOST_TEST(result.gradient_norm <= 1e-7);
      BOOST_TEST(result.loss - wanted["loss"].get<double>() < 1e-11);
      BOOST_TEST(static_cast<double>(result.evaluations) <=
                 1.3 * wanted["evaluations"].get<double>() + 5);
      const std::vector<double> x = wanted["x"], found = problem.values();
      for (std::size_t i = 0; i < x.size(); ++i) BOOST_TEST(std::abs(found[i] - x[i]) < 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_step_lowers_the_loss_at_the_parameters) {
  OneVector problem({-1.2, 1, 0.3}, rosenbrock);
  Lbfgs lbfgs(problem.session, problem.loss, {problem.x});
  double last = problem.loss_now();
  std::int64_t steps = 0;
  while (lbfgs.step()) {
    ++steps;
    BOOST_TEST(lbfgs.result().loss < last);
    BOOST_TEST(lbfgs.result().loss == problem.loss_now());
    last = lbfgs.result().loss;
  }
  BOOST_TEST(steps == lbfgs.result().iterations);
  BOOST_TEST(lbfgs.result().converged());
  const Tensor end = problem.session.value("x");
  BOOST_TEST(!lbfgs.step());
  BOOST_TEST(bitwise_equal(problem.session.value("x"), end));
  BOOST_TEST(lbfgs.result().str().find("the gradient converged after") == 0u);
}

BOOST_AUTO_TEST_CASE(f32_parameters_reach_the_accuracy_of_f32) {
  OneVector problem({-1.2, 1}, rosenbrock, DType::f32);
  const LbfgsResult result = minimize(problem.session, problem.loss, {problem.x}, {},
                                      {.gradient_tolerance = 0, .change_tolerance = 0});
  // Rounding ends it, and the parameters are the best that were found.
  BOOST_TEST((result.status == LbfgsStatus::line_search_failed ||
              result.status == LbfgsStatus::gradient_converged),
             result.str());
  BOOST_TEST(result.loss == problem.loss_now());
  BOOST_TEST(result.loss < 1e-9);
  for (const double x : problem.values()) BOOST_TEST(std::abs(x - 1) < 1e-3);
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
  std::vector<Tensor> found;
  for (const int threads : {1, 2, 5}) {
    Regression problem({.seed = 3, .threads = threads});
    minimize(problem.session, problem.loss, problem.net.parameters(), problem.feeds,
             {.max_iterations = 15});
    found.push_back(problem.session.value("net.hidden.weight"));
  }
  BOOST_TEST(bitwise_equal(found[0], found[1]));
  BOOST_TEST(bitwise_equal(found[0], found[2]));
}

BOOST_AUTO_TEST_CASE(a_resumed_minimisation_continues_bit_for_bit) {
  const testing::TemporaryFolder folder;
  Regression whole;
  const LbfgsOptions options{.history = 4, .max_iterations = 20};
  const LbfgsResult wanted =
      minimize(whole.session, whole.loss, whole.net.parameters(), whole.feeds, options);
  BOOST_TEST(wanted.iterations == 20);
  for (const int stop : {0, 2, 11}) {
    Regression first, second;
    Lbfgs before(first.session, first.loss, first.net.parameters(), first.feeds, options);
    for (int i = 0; i < stop; ++i) BOOST_TEST(before.step());
    write_safetensors(folder / "lbfgs.safetensors", before.state());
    Lbfgs after(second.session, second.loss, second.net.parameters(), second.feeds, options);
    after.load_state(read_safetensors(folder / "lbfgs.safetensors").tensors);
    BOOST_TEST(after.result().iterations == stop);
    while (after.step()) {
    }
    BOOST_TEST(after.result().evaluations == wanted.evaluations);
    BOOST_TEST(after.result().loss == wanted.loss);
    for (const Variable& p : whole.g.parameters()) {
      BOOST_TEST(bitwise_equal(second.session.value(p.name()), whole.session.value(p.name())));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_state_of_another_model_is_rejected_and_changes_nothing) {
  OneVector problem({-1.2, 1}, rosenbrock), other({-1.2, 1, 3}, rosenbrock);
  Lbfgs lbfgs(problem.session, problem.loss, {problem.x});
  Lbfgs wrong(other.session, other.loss, {other.x});
  BOOST_CHECK_EXCEPTION(
      lbfgs.load_state(wrong.state()), ArgumentError,
      message_contains({"L-BFGS: 'parameters' of the state is f64[3], but must be f64[2]",
                        "for the 2 elements of the parameters", "lbfgs_test.cc"}));
  auto state = lbfgs.state();
  state.erase("steps");
  BOOST_CHECK_EXCEPTION(lbfgs.load_state(state), ArgumentError,
                        message_contains({"'steps' of the state is missing"}));
  state = lbfgs.state();
  state["loss"] = Tensor::scalar(DType::f32, 1);
  BOOST_CHECK_EXCEPTION(lbfgs.load_state(state), ArgumentError,
                        message_contains({"'loss' of the state is f32[], but must be f64[]"}));
  BOOST_TEST(problem.values() == (std::vector<double>{-1.2, 1}), tt::per_element());
}

// The loss x - log(x) is NaN for negative x, which the first steps reach. exp(x^2) overflows.
BOOST_AUTO_TEST_CASE(steps_into_nonfinite_losses_are_shortened) {
  OneVector logarithm({1e-3, 50}, [](Value x) { return sum(x - log(x)); });
  LbfgsResult result = minimize(logarithm.session, logarithm.loss, {logarithm.x});
  BOOST_TEST(result.converged(), result.str());
  for (const double x : logarithm.values()) BOOST_TEST(std::abs(x - 1) < 1e-4);
  OneVector steep({3, -2}, [](Value x) { return sum(exp(square(x * 8.0)) - x); });
  result = minimize(steep.session, steep.loss, {steep.x});
  BOOST_TEST(std::isfinite(result.loss));
  BOOST_TEST(result.converged(), result.str());
  // The gradient is infinite at 0, although the loss is finite there.
  OneVector root({1, 0.25}, [](Value x) { return sum(sqrt(abs(x)) + square(x)); });
  result = minimize(root.session, root.loss, {root.x}, {}, {.max_iterations = 50});
  for (const double x : root.values()) BOOST_TEST(std::isfinite(x));
  BOOST_TEST(result.loss == root.loss_now());
}

BOOST_AUTO_TEST_CASE(a_nonfinite_initial_loss_is_an_error_that_changes_nothing) {
  OneVector problem({-1, 2}, [](Value x) { return sum(x - log(x)); });
  Lbfgs lbfgs(problem.session, problem.loss, {problem.x});
  BOOST_CHECK_EXCEPTION(lbfgs.step(), DataError,
                        message_contains({"L-BFGS: at the initial parameters, the loss is", "nan",
                                          "SessionOptions::check_finite", "lbfgs_test.cc"}));
  BOOST_TEST(problem.values() == (std::vector<double>{-1, 2}), tt::per_element());
  OneVector slope({0}, [](Value x) { return sum(sqrt(x)); });
  BOOST_CHECK_EXCEPTION(minimize(slope.session, slope.loss, {slope.x}), DataError,
                        message_contains({"the loss is 0 and its gradient is not finite"}));
  // The minimisation begins as soon as the parameters are valid.
  problem.session.set_value("x", Tensor::of<double>({2}, {3, 2}));
  BOOST_TEST(lbfgs.step());
}

BOOST_AUTO_TEST_CASE(a_failed_line_search_keeps_the_parameters) {
  // The value is x^2, but the gradient is -2 x.
  OneVector problem({1.5, -2},
                    [](Value x) { return sum(2.0 * stop_gradient(square(x)) - square(x)); });
  Lbfgs lbfgs(problem.session, problem.loss, {problem.x}, {}, {.max_line_search = 7});
  BOOST_TEST(!lbfgs.step());
  BOOST_TEST((lbfgs.result().status == LbfgsStatus::line_search_failed));
  BOOST_TEST(lbfgs.result().evaluations == 8);
  BOOST_TEST(problem.values() == (std::vector<double>{1.5, -2}), tt::per_element());
  BOOST_TEST(lbfgs.result().str().find("the line search failed after 0 iterations") == 0u);
}

BOOST_AUTO_TEST_CASE(limits_end_the_minimisation) {
  for (const std::int64_t most : {1, 2, 3, 9}) {
    OneVector problem({-1.2, 1}, rosenbrock);
    const double start = problem.loss_now();
    LbfgsResult result =
        minimize(problem.session, problem.loss, {problem.x}, {}, {.max_evaluations = most});
    BOOST_TEST((result.status == LbfgsStatus::max_evaluations), result.str());
    BOOST_TEST(result.evaluations == most);
    BOOST_TEST(result.loss == problem.loss_now());
    BOOST_TEST(result.loss <= start);
    result = minimize(problem.session, problem.loss, {problem.x}, {}, {.max_iterations = most});
    BOOST_TEST((result.status == LbfgsStatus::max_iterations), result.str());
    BOOST_TEST(result.iterations == most);
  }
  OneVector minimum({1, 1}, rosenbrock);
  const LbfgsResult result = minimize(minimum.session, minimum.loss, {minimum.x});
  BOOST_TEST((result.status == LbfgsStatus::gradient_converged));
  BOOST_TEST(result.evaluations == 1);
  OneVector flat({-1.2, 1}, rosenbrock);
  const LbfgsResult early = minimize(flat.session, flat.loss, {flat.x}, {},
                                     {.gradient_tolerance = 0, .change_tolerance = 0.5});
  BOOST_TEST((early.status == LbfgsStatus::loss_converged), early.str());
}

BOOST_AUTO_TEST_CASE(an_error_during_a_step_restores_the_parameters) {
  // The index leaves its range as soon as x reaches 3.
  OneVector problem({1}, [](Value x) {
    const Value table = zeros(x.graph(), DType::f64, {3});
    return sum(square(x - 10.0) + stop_gradient(take(table, cast(x, DType::i64))));
  });
  Lbfgs lbfgs(problem.session, problem.loss, {problem.x});
  BOOST_CHECK_THROW(while (lbfgs.step()){}, DataError);
  BOOST_TEST(problem.values()[0] < 3);
  BOOST_TEST(problem.loss_now() == lbfgs.result().loss);
}

BOOST_AUTO_TEST_CASE(changed_parameters_begin_a_new_minimisation) {
  OneVector problem({-1.2, 1}, rosenbrock);
  Lbfgs lbfgs(problem.session, problem.loss, {problem.x});
  while (lbfgs.step()) {
  }
  problem.session.set_value("x", Tensor::of<double>({2}, {2, -3}));
  BOOST_TEST(lbfgs.step());
  while (lbfgs.step()) {
  }
  BOOST_TEST(lbfgs.result().converged());
  for (const double x : problem.values()) BOOST_TEST(std::abs(x - 1) < 1e-5);
}

BOOST_AUTO_TEST_CASE(only_the_listed_parameters_change) {
  Regression problem;
  problem.g.set_trainable(problem.g.find_variable("net.hidden.bias"), false);
  problem.session.initialise();
  const Tensor frozen = problem.session.value("net.hidden.bias");
  minimize(problem.session, problem.loss, problem.net.parameters(), problem.feeds,
           {.max_iterations = 5});
  BOOST_TEST(bitwise_equal(problem.session.value("net.hidden.bias"), frozen));
  const Tensor weight = problem.session.value("net.hidden.weight");
  minimize(problem.session, problem.loss, (problem.net / "out").parameters(), problem.feeds,
           {.max_iterations = 5});
  BOOST_TEST(bitwise_equal(problem.session.value("net.hidden.weight"), weight));
}

BOOST_AUTO_TEST_CASE(parameters_of_all_shapes_and_both_dtypes_are_minimised_together) {
  Graph g;
  const Variable scalar = g.variable("scalar", DType::f32, {});
  const Variable none = g.variable("none", DType::f64, {0, 3});
  const Variable matrix = g.variable("matrix", DType::f64, {2, 2});
  const Value target = g.input("target", DType::f64, {2, 2});
  const Value loss = sum(square(matrix - target * cast(scalar, DType::f64))) +
                     square(cast(scalar, DType::f64) - 2.0) + sum(none);
  Session session(g, {.threads = 1});
  const LbfgsResult result = minimize(session, loss, {scalar, none, matrix},
                                      {{"target", Tensor::of<double>({2, 2}, {1, 2, 3, 4})}});
  BOOST_TEST(result.converged(), result.str());
  BOOST_TEST(session.value("scalar").at(0) == 2, tt::tolerance(1e-5));
  for (int i = 0; i < 4; ++i)
    BOOST_TEST(session.value("matrix").at(i) == 2.0 * (i + 1), tt::tolerance(1e-5));
  const LbfgsResult empty =
      minimize(session, loss, {none}, {{"target", Tensor::zeros(DType::f64, {2, 2})}});
  BOOST_TEST((empty.status == LbfgsStatus::gradient_converged));
}

BOOST_AUTO_TEST_CASE(a_sharded_program_minimises_the_loss_of_the_whole_batch) {
  Regression whole, split;
  const LbfgsOptions options{.max_iterations = 6};
  const LbfgsResult wanted =
      minimize(whole.session, whole.loss, whole.net.parameters(), whole.feeds, options);
  const Program objective = Program("objective")
                                .output("outputs", shard_sum(sum(split.output)))
                                .output("loss", mse(split.output, split.y, Reduction::shard_mean))
                                .shards({.count = 4});
  const LbfgsResult found =
      minimize(split.session, objective, split.net.parameters(), split.feeds, options);
  BOOST_TEST(found.iterations == wanted.iterations);
  BOOST_TEST(found.loss == wanted.loss, tt::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(ranks_find_the_same_parameters_as_a_single_process) {
  const auto minimised = [](const World& world) -> NamedTensors {
    Regression problem({.seed = 3, .threads = 1, .world = world});
    const Value loss = mse(problem.output, problem.y, Reduction::shard_mean);
    minimize(problem.session, Program("objective").output("loss", loss).shards({.count = 4}),
             problem.net.parameters(), problem.feeds, {.max_iterations = 6});
    return {{"weight", problem.session.value("net.hidden.weight")}};
  };
  const Tensor wanted = minimised({})[0].second;
  for (const int ranks : {2, 4}) {
    for (const NamedTensors& found : testing::on_ranks(ranks, minimised))
      BOOST_TEST(bitwise_equal(found[0].second, wanted));
  }
}

BOOST_AUTO_TEST_CASE(losses_that_change_between_evaluations_are_rejected) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Value h = linear(net / "in", x, 4);
  Session session(g);
  const std::vector<Variable> all = net.parameters();
  const std::size_t nodes = g.node_count();
  const Value noisy = mean(square(dropout(h, 0.5, g.key("dropout"))));
  BOOST_CHECK_EXCEPTION(
      Lbfgs(session, noisy, all), ArgumentError,
      message_contains({"L-BFGS: the loss draws random numbers from the key 'dropout'",
                        "Scope::evaluation()", "lbfgs_test.cc"}));
  const Variable count = g.variable("count", DType::f32, {}, {.kind = VariableKind::buffer});
  const Value counting = with_update(mean(square(h)), count, count + 1.0);
  BOOST_CHECK_EXCEPTION(Lbfgs(session, counting, all), ArgumentError,
                        message_contains({"the loss updates the variable 'count'"}));
  const Program updates =
      Program("train").output("loss", mean(square(h))).update(count, count + 1.0);
  BOOST_CHECK_EXCEPTION(
      Lbfgs(session, updates, all), ArgumentError,
      message_contains({"program 'train' updates the variable 'count'", "pass a program without"}));
  BOOST_TEST(g.node_count() > nodes);
}

BOOST_AUTO_TEST_CASE(options_out_of_range_are_rejected_by_name) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto rejects = [&](const std::string& text, auto member, auto values) {
    for (const auto value : values) {
      OneVector problem({-1.2, 1}, rosenbrock);
      const std::size_t nodes = problem.g.node_count();
      LbfgsOptions options;
      options.*member = value;
      BOOST_CHECK_EXCEPTION(minimize(problem.session, problem.loss, {problem.x}, {}, options),
                            ArgumentError,
                            message_contains({"L-BFGS: " + text + " must be", "lbfgs_test.cc:"}));
      BOOST_TEST(problem.g.node_count() == nodes);
    }
  };
  using Integers = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;
  rejects("history", &LbfgsOptions::history, Integers{0, -1});
  rejects("max_iterations", &LbfgsOptions::max_iterations, Integers{0, -1});
  rejects("max_evaluations", &LbfgsOptions::max_evaluations, Integers{0, -1});
  rejects("max_line_search", &LbfgsOptions::max_line_search, Integers{0, -1});
  rejects("gradient_tolerance", &LbfgsOptions::gradient_tolerance, Numbers{-1, nan, inf});
  rejects("change_tolerance", &LbfgsOptions::change_tolerance, Numbers{-1, nan, inf});
  rejects("c1", &LbfgsOptions::c1, Numbers{0, -1, nan, inf, 0.9, 0.95});
  rejects("c2", &LbfgsOptions::c2, Numbers{-0.1, 1, nan, inf});
}

BOOST_AUTO_TEST_CASE(errors_name_the_parameter_or_the_loss) {
  OneVector problem({-1.2, 1}, rosenbrock), other({1, 2}, rosenbrock);
  Session& session = problem.session;
  const Variable half = problem.g.variable("half", DType::bf16, {2});
  const std::size_t nodes = problem.g.node_count();
  const auto fails = [&]<class E>(E*, Value loss, const std::vector<Variable>& parameters,
                                  std::vector<std::string> parts) {
    BOOST_CHECK_EXCEPTION(minimize(session, loss, parameters), E,
                          message_contains(std::move(parts)));
  };
  const auto argument = static_cast<ArgumentError*>(nullptr);
  const auto dtype = static_cast<DTypeError*>(nullptr);
  const auto graph = static_cast<GraphError*>(nullptr);
  const auto gradient = static_cast<GradientError*>(nullptr);
  fails(argument, problem.loss, {}, {"L-BFGS: the parameter list is empty", "lbfgs_test.cc"});
  fails(argument, problem.loss, {Variable()}, {"L-BFGS: a parameter is undefined"});
  fails(argument, problem.loss, {problem.x, problem.x}, {"parameter 'x' is listed twice"});
  fails(dtype, problem.loss, {half}, {"parameter 'half' is bf16[2], but must be f32 or f64"});
  fails(graph, problem.loss, {other.x}, {"another graph"});
  fails(graph, other.loss, {problem.x}, {"another graph"});
  fails(graph, Value(), {problem.x}, {"undefined"});
  fails(gradient, problem.x, {problem.x}, {"scalar"});
  fails(gradient, sum(square(cast(half, DType::f64))), {problem.x},
        {"leave it out of the parameters", "LbfgsOptions::gradients.unreachable"});
  BOOST_TEST(problem.g.node_count() > nodes);
  const Program two = Program("two").output("a", problem.loss).output("b", problem.loss);
  BOOST_CHECK_EXCEPTION(Lbfgs(session, two, {problem.x}), ArgumentError,
                        message_contains({"program 'two' must have an output 'loss' or a single "
                                          "output, but has 2 outputs"}));
  BOOST_CHECK_EXCEPTION(Lbfgs(session, problem.loss, {problem.x}, {},
                              {.gradients = {.cotangent = problem.g.scalar(DType::f64, 1)}}),
                        ArgumentError,
                        message_contains({"LbfgsOptions::gradients.cotangent must not be set"}));
  BOOST_CHECK_THROW(
      minimize(session, problem.loss, {problem.x}, {{"none", Tensor::zeros(DType::f32, {})}}),
      ArgumentError);
  const Variable unused = problem.g.variable("unused", DType::f64, {2});
  const LbfgsResult result = minimize(session, problem.loss, {problem.x, unused}, {},
                                      {.gradients = {.unreachable = Unreachable::zeros}});
  BOOST_TEST(result.converged());
}

// The test functions of Moré and Thuente, "Line search algorithms with guaranteed sufficient
// decrease", 1994, section 5, from first steps that are far too short and far too long.
BOOST_AUTO_TEST_CASE(line_searches_meet_the_strong_wolfe_conditions) {
  struct Function {
    const char* name;
    std::function<double(double)> value, slope;
    WolfeConditions conditions;
  };
  const auto gamma = [](double b) { return std::sqrt(1 + b * b) - b; };
  const auto yanai = [&](double b1, double b2) -> Function {
    const double g1 = gamma(b1), g2 = gamma(b2);
    return {"yanai",
            [=](double t) {
              return g1 * std::sqrt((1 - t) * (1 - t) + b2 * b2) + g2 * std::sqrt(t * t + b1 * b1);
            },
            [=](double t) {
              return -g1 * (1 - t) / std::sqrt((1 - t) * (1 - t) + b2 * b2) +
                     g2 * t / std::sqrt(t * t + b1 * b1);
            },
            {1e-3, 1e-2}};
  };
  const std::vector<Function> functions = {
      {"rational",
       [](double t) { return -t / (t * t + 2); },
       [](double t) { return (t * t - 2) / ((t * t + 2) * (t * t + 2)); },
       {1e-3, 1e-1}},
      {"polynomial",
       [](double t) { return std::pow(t + 0.004, 5) - 2 * std::pow(t + 0.004, 4); },
       [](double t) { return 5 * std::pow(t + 0.004, 4) - 8 * std::pow(t + 0.004, 3); },
       {1e-1, 1.1e-1}},
      yanai(1e-3, 1e-3),
      yanai(1e-2, 1e-3),
      yanai(1e-3, 1e-2)};
  for (const Function& f : functions) {
    for (const double first : {1e-3, 1e-1, 1e1, 1e3}) {
      BOOST_TEST_CONTEXT(f.name << " from " << first) {
        std::int64_t evaluations = 0;
        const auto at = [&](double t) {
          ++evaluations;
          return LinePoint{.t = t, .loss = f.value(t), .slope = f.slope(t)};
        };
        const LinePoint start{.loss = f.value(0), .slope = f.slope(0)};
        const LinePoint found = strong_wolfe(start, first, f.conditions, 40, at);
        BOOST_TEST(found.t > 0);
        BOOST_TEST(found.loss <= start.loss + f.conditions.c1 * found.t * start.slope);
        BOOST_TEST(std::abs(found.slope) <= -f.conditions.c2 * start.slope);
        BOOST_TEST(evaluations <= 25);
      }
    }
  }
  // Without an admissible point, the result is the start, or the best point with enough decrease.
  const LinePoint start{.loss = 1, .slope = -1};
  const auto rises = [](double t) { return LinePoint{.t = t, .loss = 1 + t, .slope = 1}; };
  BOOST_TEST(strong_wolfe(start, 1, {}, 10, rises).t == 0);
  BOOST_TEST(strong_wolfe(start, 1, {}, 0, rises).t == 0);
  const auto falls = [](double t) { return LinePoint{.t = t, .loss = 1 - t, .slope = -1}; };
  BOOST_TEST(strong_wolfe(start, 1, {}, 3, falls).t == 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
