// Diverging training runs: non-finite models are never saved, and non-finite steps can be skipped.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/functions.h"
#include "weft/models/training/trainer.h"
#include "weft/models/training/training_step.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(divergence)
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Type of a batch. The loss is essentially mean(sqrt(x * (|w| + 1))). For x > 0, loss and gradient
/// are finite; for x = 0, only the gradient is infinite; for infinite x, the loss is infinite.
enum class Batch { good, bad_gradient, bad_loss };

/// A model with dropout, so that a random key must be restored exactly, and with a matrix, so that
/// weight decay applies.
struct Model {
  explicit Model(const TrainSettings& s) : settings(s), graph(std::make_shared<Graph>()) {
    const Value x = graph->input("x", DType::f32, {4, 3});
    const Variable w =
        graph->variable("w", DType::f32, {4, 3}, {.initializer = Initializer::ones()});
    const Value kept = dropout(abs(w.value()), 0.25, graph->key("dropout"));
    // At x = 0, the square root is 0 and its gradient is infinite.
    add_training_step(train, mean(sqrt(x * (kept + 1.0)) + 0.01 * w.value()), settings);
    store = std::make_shared<VariableStore>();
  }
  /// Loads a saved model without the code that built it.
  explicit Model(const std::string& path) {
    const Checkpoint file = load_checkpoint(path);
    graph = file.shared_graph();
    train = file.program("train");
    store = file.store();
    settings = TrainSettings::from_json(file.find_attachment("settings")->bytes);
  }

  TrainSettings settings;
  std::shared_ptr<Graph> graph;
  Program train{"train"};
  std::shared_ptr<VariableStore> store;
};

struct Run {
  explicit Run(Model& m, const std::function<Batch(std::int64_t)>& kinds)
      : model(m),
        session(*m.graph, m.store, {.seed = 5, .threads = 1}),
        task{&m.train, [kinds](const BatchPart& part) {
               const Batch kind = kinds(part.step());
               const auto value = kind == Batch::bad_loss ? kInfinity
                                  : kind == Batch::bad_gradient
                                      ? 0.0F
                                      : 1 + static_cast<float>(part.step());
               return TrainBatch{{{"x", Tensor::full(DType::f32, {4, 3}, value)}}, 1};
             }} {
    options.settings = m.settings;
    options.save = [this](const TrainHistory&) { save(saved); };
  }

  void save(std::vector<std::int64_t>& list) {
    BOOST_TEST(!first_nonfinite(*model.store));
    list.push_back(session.value(kStepVariable).item<std::int64_t>());
  }
  TrainOutcome operator()() { return Trainer(session, task, options).run(); }
  /// Checks that the run fails with "<what>... at step <step>: training has diverged; ...; <kept>".
  void fails(const std::string& what, std::int64_t step, const std::string& kept) {
    BOOST_CHECK_EXCEPTION((*this)(), DataError, [&](const Error& e) {
      const std::string message = e.what();
      BOOST_TEST_CONTEXT(message) {
        BOOST_TEST(message.starts_with(what));
        BOOST_TEST(message.ends_with(" at step " + std::to_string(step) +
                                     ": training has diverged; try a lower learning rate (--lr), "
                                     "or find the first such value with "
                                     "SessionOptions::check_finite (--check-finite); " +
                                     kept));
      }
      return true;
    });
  }

  Model& model;
  Session session;
  TrainTask task;
  Trainer::Options options;
  std::vector<std::int64_t> saved, best;  // steps of the saved checkpoints and best models
};

TrainSettings settings(std::int64_t steps, std::int64_t skip = 0) {
  TrainSettings s{.steps = steps, .lr = 0.01, .warmup = 0, .eval_every = 0, .save_every = 1};
  s.skip_nonfinite = skip;
  return s;
}

std::function<Batch(std::int64_t)> bad_at(std::set<std::int64_t> steps,
                                          Batch kind = Batch::bad_gradient) {
  return [=](std::int64_t step) { return steps.contains(step) ? kind : Batch::good; };
}

BOOST_AUTO_TEST_CASE(a_nonfinite_gradient_stops_the_run_before_saving) {
  // Test the middle of the run and its last step, without held-out data.
  for (const std::int64_t steps : {6, 3}) {
    Model model(settings(steps));
    Run run(model, bad_at({2}));
    run.fails("the gradient norm is nan (the loss is 0.0", 3, "the checkpoint of step 2 is kept");
    BOOST_TEST((run.saved == std::vector<std::int64_t>{1, 2}));
    BOOST_TEST(first_nonfinite(*model.store).has_value());
  }
  Model model(settings(6));
  Run run(model, bad_at({0}, Batch::bad_loss));
  run.fails("the loss is inf", 1, "no checkpoint was written");
  BOOST_TEST(run.saved.empty());
}

BOOST_AUTO_TEST_CASE(a_nonfinite_parameter_is_never_saved) {
  // The loss and the gradient are finite, but weight decay multiplies the matrix by about -1e6.
  const auto check_nothing_saved = [](TrainSettings s, const std::function<void(Run&)>& prepare) {
    s.lr = s.weight_decay = 1000;
    s.schedule = LearningRate::constant;
    Model model(s);
    Run run(model, bad_at({}));
    run.session.initialise();
    run.session.set_value("w", Tensor::full(DType::f32, {4, 3}, 2e34));
    prepare(run);
    run.fails("the parameter 'w' is -inf at [0, 0]", 1, "no checkpoint was written");
    BOOST_TEST(run.saved.empty());
    BOOST_TEST(run.best.empty());
  };
  check_nothing_saved(settings(4), [](Run&) {});  // the periodic save
  check_nothing_saved(settings(1), [](Run&) {});  // the save at the end
  check_nothing_saved(settings(4),
                      [](Run& run) { run.options.stop_after = 1; });  // the save when stopped
  TrainSettings with_evaluations = settings(4);
  with_evaluations.eval_every = 1;
  check_nothing_saved(with_evaluations, [](Run& run) {  // the save of the best model
    run.task.evaluate = [](bool) { return Evaluation{1.0, {}}; };
    run.options.save_best = [&run](const TrainHistory&) { run.save(run.best); };
  });
  TrainSettings patient = with_evaluations;
  patient.patience = 1;
  patient.save_every = 0;
  check_nothing_saved(patient, [](Run& run) {  // the save when patience is exhausted
    run.task.evaluate = [](bool) { return Evaluation{NAN, {}}; };
  });
}

void check_same(const VariableStore& a, const VariableStore& b,
                const std::set<std::string>& except) {
  for (const std::string& name : a.names()) {
    if (except.contains(name)) continue;
    BOOST_TEST_CONTEXT(name) { BOOST_TEST(bitwise_equal(a.tensor(name), b.tensor(name))); }
  }
  BOOST_TEST(a.names().size() == b.names().size());
}

BOOST_AUTO_TEST_CASE(a_skipped_step_leaves_parameters_and_moments_unchanged) {
  for (const Batch kind : {Batch::bad_gradient, Batch::bad_loss}) {
    Model model(settings(7, 2));
    Run run(model, bad_at({0, 3, 4, 9}, kind));
    struct Observer : TrainObserver {
      explicit Observer(Run* r) : run(r) {}
      void on_step(const StepReport&) override { remember(); }
      void on_skip(const SkipReport& report) override {
        skips.push_back(report.step);
        in_a_row.push_back(report.in_a_row);
        BOOST_TEST(report.most == 2);
        BOOST_TEST(!(std::isfinite(report.loss) && std::isfinite(report.gradient_norm)));
        if (before.empty()) return remember();
        for (const auto& [name, tensor] : before) {
          BOOST_TEST_CONTEXT(name) {
            BOOST_TEST(bitwise_equal(tensor, run->model.store->tensor(name)));
          }
        }
      }
      void remember() {
        for (const char* name : {"w", "optimizer.w.m", "optimizer.w.v", kStepVariable})
          before[name] = run->model.store->tensor(name).clone();
      }
      Run* run;
      std::map<std::string, Tensor> before;
      std::vector<std::int64_t> skips, in_a_row;
    } observer(&run);
    run.options.observer = &observer;
    const TrainOutcome outcome = run();
    BOOST_TEST(outcome.step == 7);
    BOOST_TEST(outcome.skipped == 4);
    BOOST_TEST((observer.skips == std::vector<std::int64_t>{1, 3, 3, 7}));
    BOOST_TEST((observer.in_a_row == std::vector<std::int64_t>{1, 1, 2, 1}));
    BOOST_TEST((run.saved == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7}));
    BOOST_TEST(model.store->tensor(kSkippedVariable).item<std::int64_t>() == 4);
  }
}

BOOST_AUTO_TEST_CASE(a_resumed_run_with_skipped_steps_is_bit_exact) {
  const testing::TemporaryFolder files("divergence");
  const auto kinds = bad_at({1, 4, 5, 8});
  Model straight(settings(9, 2));
  Run(straight, kinds)();

  // Stop and resume after every step, including skipped steps.
  const std::string path = files.path("m.weft");
  const auto save = [&](Model& model) {
    save_checkpoint(path, *model.store, {model.train},
                    {{{"settings", "weft.train.settings", model.settings.to_json()}}});
  };
  Model first(settings(9, 2));
  Session(*first.graph, first.store, {.seed = 5, .threads = 1}).initialise();
  save(first);
  int parts = 0;
  for (bool stopped = true; stopped; ++parts) {
    Model model(path);
    struct Stopper : TrainObserver {
      void on_step(const StepReport&) override { stop = true; }
      void on_skip(const SkipReport&) override { stop = true; }
      std::atomic<bool> stop = false;
    } stopper;
    Run run(model, kinds);
    run.options.observer = &stopper;
    run.options.stop = &stopper.stop;
    run.options.save = [&](const TrainHistory&) { save(model); };
    stopped = run().stopped;
  }
  BOOST_TEST(parts == 13);
  check_same(*straight.store, *Model(path).store, {});
}

BOOST_AUTO_TEST_CASE(too_many_consecutive_nonfinite_steps_stop_the_run) {
  Model model(settings(9, 2));
  Run run(model, bad_at({3, 4, 5}));
  run.fails(
      "3 consecutive steps were not finite, but skip_nonfinite allows only 2; the gradient norm is "
      "nan",
      4, "the checkpoint of step 3 is kept");
  BOOST_TEST(!first_nonfinite(*model.store));

  // The number of consecutive skipped steps is kept when the run is stopped and resumed.
  Model stopped(settings(9, 2));
  std::atomic<bool> stop = false;
  struct Stopper : TrainObserver {
    explicit Stopper(std::atomic<bool>* s) : stop(s) {}
    void on_skip(const SkipReport& report) override { *stop = report.in_a_row == 2; }
    std::atomic<bool>* stop;
  } stopper(&stop);
  {
    Run first(stopped, bad_at({3, 4, 5}));
    first.options.observer = &stopper;
    first.options.stop = &stop;
    BOOST_TEST(first().stopped);
  }
  Run second(stopped, bad_at({3, 4, 5}));
  BOOST_CHECK_THROW(second(), DataError);
}

BOOST_AUTO_TEST_CASE(skipping_requires_a_training_step_built_for_it) {
  Model plain(settings(3)), skipping(settings(3, 1));
  BOOST_TEST(!skips_nonfinite(plain.train));
  BOOST_TEST(skips_nonfinite(skipping.train));
  BOOST_TEST(!plain.graph->has_variable(kSkippedVariable));
  plain.settings.skip_nonfinite = 1;
  Session session(*plain.graph, {.seed = 1});
  BOOST_CHECK_EXCEPTION(
      Trainer(session, {&plain.train, [](const BatchPart&) { return TrainBatch{}; }},
              {.settings = plain.settings}),
      ArgumentError, [](const Error& e) {
        return std::string(e.what()).starts_with(
            "skip_nonfinite: the program's training step was built without it");
      });
  // If skip_nonfinite is set back to 0, a step that would have been skipped ends the run.
  skipping.settings.skip_nonfinite = 0;
  Run run(skipping, bad_at({1}));
  BOOST_CHECK_THROW(run(), DataError);
  BOOST_TEST((run.saved == std::vector<std::int64_t>{1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
