// The optimizers of training runs: names, training steps, and the settings that each one uses.
#include "weft/models/training/optimizers.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "task_shell.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/training/training_step.h"
#include "weft/testing/close.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(train_optimizers)
namespace {

using testing::says;

/// Returns a matrix after three steps. `add` adds the training step for a loss to a program.
Tensor trained_matrix(const std::function<void(Program& train, Value loss)>& add) {
  Graph graph;
  const Variable w =
      graph.variable("w", DType::f32, {3, 2}, {.initializer = Initializer::normal(1)});
  Program train("train");
  add(train, sum(square(w.value() - 2)));
  Session session(graph, {.seed = 5, .threads = 1});
  for (int step = 0; step < 3; ++step) session.run(train, {});
  return session.store()->tensor("w").clone();
}

const TrainSettings kSettings{.steps = 10,
                              .lr = 0.1,
                              .min_lr = 0.01,
                              .warmup = 2,
                              .beta1 = 0.8,
                              .beta2 = 0.95,
                              .weight_decay = 0.03,
                              .clip = 1.5};

BOOST_AUTO_TEST_CASE(every_optimizer_has_the_name_of_its_enum_value) {
  const auto names = choice_names(Optimizer{}).names;
  const std::map<std::string_view, Optimizer> values = {
      {"adamw", Optimizer::adamw}, {"adam", Optimizer::adam},
      {"sgd", Optimizer::sgd},     {"adagrad", Optimizer::adagrad},
      {"lion", Optimizer::lion},   {"adafactor", Optimizer::adafactor}};
  BOOST_TEST(names.size() == values.size());
  for (const auto& [name, value] : values) {
    BOOST_TEST(train_optimizer(value).name == name);
    BOOST_TEST((parse_choice<Optimizer>(name) == value));
  }
}

BOOST_AUTO_TEST_CASE(training_steps_are_those_of_the_optimizer_functions) {
  const Schedule lr = learning_rate(kSettings);
  const TrainSettings& s = kSettings;
  const StepOptions step{.clip_norm = s.clip};
  const std::map<std::string, std::function<Updates(Value)>> functions = {
      {"adamw",
       [&](Value loss) -> Updates {
         return adamw(loss, loss.graph().parameters(),
                      {.lr = lr, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.03, .step = step});
       }},
      {"adam",
       [&](Value loss) -> Updates {
         return adam(loss, loss.graph().parameters(),
                     {.lr = lr, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.03, .step = step});
       }},
      {"sgd",
       [&](Value loss) -> Updates {
         return sgd(loss, loss.graph().parameters(),
                    {.lr = lr, .momentum = 0.8, .weight_decay = 0.03, .step = step});
       }},
      {"adagrad",
       [&](Value loss) -> Updates {
         return adagrad(loss, loss.graph().parameters(),
                        {.lr = lr, .weight_decay = 0.03, .step = step});
       }},
      {"adafactor",
       [&](Value loss) -> Updates {
         return adafactor(loss, loss.graph().parameters(),
                          {.lr = lr, .weight_decay = 0.03, .step = step});
       }},
      {"lion", [&](Value loss) -> Updates {
         return lion(loss, loss.graph().parameters(),
                     {.lr = lr, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.03, .step = step});
       }}};
  for (const auto& [name, updates] : functions) {
    BOOST_TEST_CONTEXT(name) {
      TrainSettings settings = kSettings;
      settings.optimizer = parse_choice<Optimizer>(name);
      const Tensor found = trained_matrix(
          [&](Program& train, Value loss) { add_training_step(train, loss, settings); });
      const Tensor expected =
          trained_matrix([&](Program& train, Value loss) { train.update(updates(loss)); });
      BOOST_TEST(testing::expect_same_bits(found, expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(weight_decay_of_presets_applies_only_to_optimizers_that_it_suits) {
  const std::set<std::string_view> suited = {"adamw", "lion"};
  for (const std::string_view name : choice_names(Optimizer{}).names) {
    BOOST_TEST_CONTEXT(name) {
      const std::string optimizer(name);
      BOOST_TEST(chosen_settings(kSettings, {{"optimizer", optimizer}}).weight_decay ==
                 (suited.contains(name) ? 0.03 : 0));
      BOOST_TEST(chosen_settings(kSettings, {{"optimizer", optimizer}, {"weight_decay", "0.5"}})
                     .weight_decay == 0.5);
    }
  }
}

BOOST_AUTO_TEST_CASE(settings_without_effect_are_rejected) {
  for (const auto& [optimizer, field] :
       {std::pair("sgd", "beta2"), std::pair("adagrad", "beta1"), std::pair("adagrad", "beta2"),
        std::pair("adafactor", "beta1"), std::pair("adafactor", "beta2")}) {
    BOOST_CHECK_EXCEPTION(chosen_settings(kSettings, {{"optimizer", optimizer}, {field, "0.5"}}),
                          ArgumentError,
                          says(std::string("--") + field + " has no effect with the optimizer " +
                               optimizer + ": leave it out"));
  }
  BOOST_TEST(chosen_settings(kSettings, {{"optimizer", "sgd"}, {"beta1", "0"}}).beta1 == 0);
}

BOOST_AUTO_TEST_CASE(adagrad_trains_and_resumes_from_the_command_line) {
  const TaskShell weft(*find_task("next-token"));
  const std::string options = "--optimizer adagrad --out ";
  const Outcome whole = weft.train_new(options + weft.path("whole.weft"));
  check_success(whole, "training run");
  BOOST_TEST(whole.out.find(", AdaGrad, learning rate ") != std::string::npos);
  check_success(weft.train_new(options + weft.path("half.weft") + " --stop-after 2"), "stopped");
  check_success(weft.train("--resume " + weft.path("half.weft")), "resumed run");
  const auto expected = load_any_model(weft.path("whole.weft")).model;
  const auto resumed = load_any_model(weft.path("half.weft")).model;
  for (const std::string& name : expected->store->names()) {
    BOOST_TEST(
        testing::expect_same_bits(resumed->store->tensor(name), expected->store->tensor(name)),
        name);
  }
  BOOST_TEST((resumed->history.train == expected->history.train));
  BOOST_TEST((expected->settings.optimizer == Optimizer::adagrad));
  std::size_t sums = 0;
  for (const std::string& name : expected->store->names())
    sums += name.starts_with("optimizer.") && name.ends_with(".sum") ? 1 : 0;
  BOOST_TEST(sums > 0U);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
