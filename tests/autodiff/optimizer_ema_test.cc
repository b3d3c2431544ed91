// Moving averages of weights, and optimizers that are resumed from a file.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/autodiff/optimizer_problem.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::kInfinity;
using testing::message_contains;
using testing::Problem;
using testing::ScalarParameter;

// A test problem whose training step maintains averages.
struct Averaged : Problem {
  explicit Averaged(DType type, const EmaOptions& options = {}, bool skip = false)
      : Problem(type),
        step(adamw(loss, parameters, {.lr = 0.1, .step = {.skip_nonfinite = skip}})),
        ema(parameters, options) {
    train.output("loss", loss).update(step).update(ema.updates(step));
  }
  TrainingStep step;
  Ema ema;
  Program train{"train"};
};

double largest_difference(const Tensor& actual, const std::vector<double>& expected) {
  double result = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    result = std::max(result, std::abs(actual.at(static_cast<std::int64_t>(i)) - expected[i]));
  }
  return result;
}

BOOST_AUTO_TEST_SUITE(optimizer_ema)

BOOST_AUTO_TEST_CASE(averages_follow_the_new_weights) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const bool warmup : {false, true}) {
      Averaged problem(dtype, {.decay = 0.8, .warmup = warmup});
      Session session(problem.g, problem.store, {.threads = 1});
      std::vector<ScalarParameter> averages = testing::start_of_problem();
      for (int step = 0; step < 60; ++step) {
        session.run(problem.train, problem.feeds(step));
        const double decay = warmup ? std::min(0.8, (1.0 + step) / (10.0 + step)) : 0.8;
        for (ScalarParameter& a : averages) {
          const Tensor now = session.value(a.name);
          for (std::size_t i = 0; i < a.p.size(); ++i) {
            a.p[i] = decay * a.p[i] + (1 - decay) * now.at(static_cast<std::int64_t>(i));
          }
        }
      }
      const auto found = averaged_parameters(*problem.store);
      BOOST_TEST(found.size() == 4u);
      for (const ScalarParameter& a : averages) {
        BOOST_TEST(largest_difference(found.at(a.name), a.p) <
                   (dtype == DType::f64 ? 1e-14 : 1e-6));
        BOOST_TEST(bitwise_equal(found.at(a.name), session.value("ema." + a.name + ".average")));
      }
      BOOST_TEST(session.value("ema.steps").item<std::int64_t>() == 60);
    }
  }
}

BOOST_AUTO_TEST_CASE(averages_do_not_change_training) {
  Averaged with(DType::f32);
  Problem without(DType::f32);
  Program train("train");
  train.update(adamw(without.loss, without.parameters, {.lr = 0.1}));
  Session a(with.g, with.store, {.threads = 1}), b(without.g, without.store, {.threads = 1});
  for (int step = 0; step < 5; ++step) {
    a.run(with.train, with.feeds(step));
    b.run(train, without.feeds(step));
  }
  for (const Variable& p : with.parameters) {
    BOOST_TEST(bitwise_equal(a.value(p.name()), b.value(p.name())), p.name());
  }
}

BOOST_AUTO_TEST_CASE(a_skipped_step_does_not_change_the_averages) {
  Averaged problem(DType::f32, {}, true);
  Session session(problem.g, problem.store, {.threads = 1});
  // If the first steps are skipped, there is nothing to average, so the weights themselves are
  // returned.
  session.run(problem.train, problem.feeds(0, kInfinity));
  BOOST_TEST(session.value("ema.steps").item<std::int64_t>() == 0);
  BOOST_TEST(
      bitwise_equal(averaged_parameters(*problem.store).at("w"), problem.store->tensor("w")));
  for (int step = 1; step < 4; ++step) session.run(problem.train, problem.feeds(step));
  const auto before = averaged_parameters(*problem.store);
  session.run(problem.train, problem.feeds(4, kInfinity));
  session.run(problem.train, problem.feeds(5, std::nan("")));
  const auto after = averaged_parameters(*problem.store);
  BOOST_TEST(before.size() == 4u);
  for (const auto& [name, value] : before) BOOST_TEST(bitwise_equal(value, after.at(name)), name);
  BOOST_TEST(session.value("ema.steps").item<std::int64_t>() == 3);
}

BOOST_AUTO_TEST_CASE(the_average_of_a_parameter_without_updates_is_the_parameter) {
  Problem problem(DType::f32);
  const TrainingStep step = adamw(problem.loss, {problem.parameters[2]}, {.lr = 0.1});
  const Ema ema(problem.parameters, {.decay = 0.9});
  Program train("train");
  train.update(step).update(ema.updates(step));
  Session session(problem.g, problem.store, {.threads = 1});
  for (int i = 0; i < 20; ++i) session.run(train, problem.feeds(i));
  const auto averages = averaged_parameters(*problem.store);
  BOOST_TEST(bitwise_equal(averages.at("k"), problem.store->tensor("k")));
  BOOST_TEST(!bitwise_equal(averages.at("w"), problem.store->tensor("w")));
}

BOOST_AUTO_TEST_CASE(a_store_of_averages_can_be_evaluated_and_saved) {
  const testing::TemporaryFolder folder;
  Averaged problem(DType::f32, {.decay = 0.9});
  problem.store->insert("buffer", VariableKind::buffer, Tensor::scalar(DType::f32, 4));
  Session session(problem.g, problem.store, {.threads = 1});
  for (int i = 0; i < 10; ++i) session.run(problem.train, problem.feeds(i));
  const Tensor last = problem.store->tensor("k");

  const std::shared_ptr<VariableStore> store = averaged_store(*problem.store);
  const std::vector<std::string> expected = {"buffer", "k", "s", "v", "w"};
  BOOST_TEST(store->names() == expected, boost::test_tools::per_element());
  BOOST_TEST((store->kind("buffer") == VariableKind::buffer));
  BOOST_TEST((store->kind("w") == VariableKind::parameter));
  BOOST_TEST(bitwise_equal(store->tensor("w"), session.value("ema.w.average")));
  const Program evaluate = Program("evaluate")
                               .output("loss", problem.loss)
                               .output("k", problem.parameters[3].value() * 1.0);
  Session averaged(problem.g, store, {.threads = 1});
  const Results results = averaged.run(evaluate, problem.feeds(3));
  BOOST_TEST(bitwise_equal(results["k"], session.value("ema.k.average")));
  // Training continues with the current weights, not with the averages.
  BOOST_TEST(bitwise_equal(problem.store->tensor("k"), last));
  save_checkpoint(folder / "averaged.weft", *store, {evaluate});
  const Checkpoint file = load_checkpoint(folder / "averaged.weft");
  BOOST_TEST(bitwise_equal(file.tensors().at("k"), session.value("ema.k.average")));
  // A file cannot contain variables that are not in the store.
  BOOST_CHECK_THROW(save_checkpoint(folder / "train.weft", *store, {problem.train}), StateError);
}

BOOST_AUTO_TEST_CASE(training_can_be_resumed_bit_for_bit_with_every_optimizer) {
  const testing::TemporaryFolder folder;
  using Build = std::function<TrainingStep(Value, const std::vector<Variable>&)>;
  const std::vector<Build> all = {
      [](Value loss, const auto& p) { return sgd(loss, p, {.lr = 0.02, .momentum = 0.9}); },
      [](Value loss, const auto& p) { return adam(loss, p, {.lr = 0.02}); },
      [](Value loss, const auto& p) { return adamw(loss, p, {.lr = 0.02}); },
      [](Value loss, const auto& p) { return adafactor(loss, p, {.beta1 = 0.9}); },
      [](Value loss, const auto& p) {
        return adafactor(loss, p, {.lr = linear_schedule(0.1, 2, 20), .scale_parameter = false});
      },
      [](Value loss, const auto& p) { return lion(loss, p, {.lr = 0.02, .weight_decay = 0.1}); },
  };
  for (std::size_t which = 0; which < all.size(); ++which) {
    BOOST_TEST_CONTEXT("optimizer " << which) {
      Problem problem(DType::f32);
      const TrainingStep step = all[which](problem.loss, problem.parameters);
      const Ema ema(problem.parameters, {.decay = 0.9, .warmup = true});
      Program train("train");
      train.output("loss", problem.loss).update(step).update(ema.updates(step));
      Session session(problem.g, problem.store, {.threads = 1});
      for (int i = 0; i < 6; ++i) session.run(train, problem.feeds(i));
      save_checkpoint(folder / "train.weft", session, {train});
      for (int i = 6; i < 12; ++i) session.run(train, problem.feeds(i));

      const Checkpoint file = load_checkpoint(folder / "train.weft");
      Session resumed(file.graph(), file.store(), {.threads = 2});
      for (int i = 6; i < 12; ++i) resumed.run(file.program("train"), problem.feeds(i));
      for (const Variable& v : problem.g.variables()) {
        BOOST_TEST(bitwise_equal(resumed.value(v.name()), session.value(v.name())), v.name());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_for_averages_name_the_problem) {
  Problem problem(DType::f32);
  Graph& g = problem.g;
  const auto& p = problem.parameters;
  const std::size_t variables = g.variables().size();
  BOOST_CHECK_EXCEPTION(Ema(p, {.decay = 1}), ArgumentError,
                        message_contains({"Ema: decay must be in [0, 1), but is 1"}));
  BOOST_CHECK_EXCEPTION(Ema(std::vector<Variable>{}), ArgumentError,
                        message_contains({"Ema: the parameter list is empty"}));
  BOOST_CHECK_EXCEPTION(Ema({p[0], p[0]}), ArgumentError,
                        message_contains({"Ema: parameter 's' is listed twice"}));
  BOOST_CHECK_EXCEPTION(Ema({p[0], Variable()}), ArgumentError,
                        message_contains({"Ema: a parameter is undefined"}));
  Problem other(DType::f32);
  BOOST_CHECK_THROW(Ema({p[0], other.parameters[1]}), GraphError);
  BOOST_TEST(g.variables().size() == variables);
  // The name conflict occurs after some averages have been added; these averages are then removed.
  g.variable("ema.k.average", DType::f32, {1});
  BOOST_CHECK_EXCEPTION(Ema{p}, GraphError,
                        message_contains({"Ema: variable 'ema.k.average' already exists",
                                          "leave EmaOptions::scope (now 'ema') empty"}));
  BOOST_TEST(g.variables().size() == variables + 1);
  const Ema ema(p, {.scope = "slow"});
  BOOST_CHECK_THROW(ema.updates(sgd(other.loss, other.parameters)), GraphError);
  BOOST_CHECK_EXCEPTION(averaged_store(*problem.store), StateError,
                        message_contains({"no weight averages for scope 'ema'",
                                          "no variable 'ema.steps'", "with Ema"}));
  BOOST_TEST(!has_averages(*problem.store));
  BOOST_TEST(!has_averages(*problem.store, "slow"));
  // Two sets of averages for one training run, in different scopes.
  const TrainingStep step = sgd(problem.loss, p);
  const Ema fast(p, {.decay = 0, .scope = "fast"});
  Program train("train");
  train.update(step).update(ema.updates(step)).update(fast.updates(step));
  Session session(g, problem.store, {.threads = 1});
  for (int i = 0; i < 3; ++i) session.run(train, problem.feeds(i));
  BOOST_TEST(has_averages(*problem.store, "slow"));
  BOOST_TEST(largest_difference(averaged_parameters(*problem.store, "fast").at("w"),
                                session.value("w").to(DType::f64).to_vector<double>()) < 1e-7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
