// Keeping the best model of a training run, and early stopping when the validation loss no longer
// improves.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/token_batches.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/training_step.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(best_model)
namespace {

using Steps = std::vector<std::int64_t>;

/// A training run of a trivial model with scripted validation losses. After step s, an evaluation
/// over some batches returns losses[(s - 1) / eval_every] (integer division); an evaluation over
/// all batches returns that loss minus 100.
struct Scripted {
  explicit Scripted(const TrainSettings& s, std::vector<double> given)
      : settings(s), losses(std::move(given)) {
    const Value x = graph.input("x", DType::f32, {});
    const Variable w = graph.variable("w", DType::f32, {});
    add_training_step(train, x * w, settings);
    session.emplace(graph, SessionOptions{.seed = 1, .threads = 1});
  }

  TrainOutcome run(TrainHistory history = {}, bool keep_best = true, std::int64_t stop_after = 0) {
    struct Observer : TrainObserver {
      explicit Observer(Scripted* s) : script(s) {}
      void on_step(const StepReport& report) override { script->now = report.step; }
      void on_evaluation(std::int64_t step, const Evaluation&, bool whole) override {
        (whole ? script->full_evaluations : script->partial_evaluations).push_back(step);
      }
      void on_best(std::int64_t step, double loss) override {
        BOOST_TEST(script->kept.back() == step);
        BOOST_TEST(script->saved.validation.back().second == loss);
        ++script->best_notifications;
      }
      Scripted* script;
    } observer(this);
    TrainTask task{&train, [](const BatchPart&) {
                     return TrainBatch{{{"x", Tensor::full(DType::f32, {}, 1)}}, 1};
                   }};
    task.evaluate = [this](bool whole) {
      const auto at = static_cast<std::size_t>((now - 1) / settings.eval_every);
      return Evaluation{losses.at(at) - (whole ? 100 : 0), {{"accuracy", 0.5}}};
    };
    Trainer::Options options{.settings = settings,
                             .history = std::move(history),
                             .observer = &observer,
                             .save = [this](const TrainHistory& h) { last = h; },
                             .stop_after = stop_after};
    if (keep_best) {
      options.save_best = [this](const TrainHistory& h) {
        saved = h;
        kept.push_back(h.validation.back().first);
      };
    }
    return Trainer(*session, task, options).run();
  }

  TrainSettings settings;
  std::vector<double> losses;
  Graph graph;
  Program train{"train"};
  std::optional<Session> session;
  std::int64_t now = 0;
  /// Steps with an evaluation over some batches, steps with an evaluation over all batches, and
  /// steps at which save_best was called.
  Steps partial_evaluations, full_evaluations, kept;
  int best_notifications = 0;
  TrainHistory last, saved;
};

TrainSettings every_two(std::int64_t steps, std::int64_t patience = 0) {
  return {.steps = steps, .warmup = 0, .eval_every = 2, .eval_batches = 3, .patience = patience};
}

BOOST_AUTO_TEST_CASE(the_model_with_the_lowest_loss_is_kept) {
  Scripted script(every_two(12), {5, 3, 4, NAN, 2, 2});
  const TrainOutcome outcome = script.run();
  BOOST_TEST((script.kept == Steps{2, 4, 10}));
  BOOST_TEST(script.best_notifications == 3);
  BOOST_TEST(outcome.best.step == 10);
  BOOST_TEST(outcome.best.loss == 2);
  BOOST_TEST(outcome.best.since == 1);
  BOOST_TEST(!outcome.stopped);
  BOOST_TEST(!outcome.out_of_patience);
  // The last step is evaluated like the others, and once more over all batches. This second loss
  // does not count as an improvement.
  BOOST_TEST((script.partial_evaluations == Steps{2, 4, 6, 8, 10, 12}));
  BOOST_TEST((script.full_evaluations == Steps{12}));
  BOOST_TEST(outcome.evaluation.loss == -98);
  BOOST_TEST((script.last.validation_batches == Steps{3, 3, 3, 3, 3, 3, 0}));
  BOOST_TEST(script.last.metrics.at("accuracy").size() == 7U);
}

BOOST_AUTO_TEST_CASE(the_last_step_can_be_the_best_even_if_no_evaluation_was_due) {
  Scripted script(every_two(5), {5, 4, 3});
  BOOST_TEST(script.run().best.step == 5);
  BOOST_TEST((script.kept == Steps{2, 4, 5}));
  BOOST_TEST((script.partial_evaluations == Steps{2, 4, 5}));
}

BOOST_AUTO_TEST_CASE(full_evaluations_are_compared_if_eval_batches_is_0) {
  TrainSettings settings = every_two(6);
  settings.eval_batches = 0;
  Scripted script(settings, {5, 3, 4});
  BOOST_TEST(script.run().best.loss == -97);
  BOOST_TEST((script.kept == Steps{2, 4}));
  BOOST_TEST((script.full_evaluations == Steps{2, 4, 6}));
  BOOST_TEST(script.partial_evaluations.empty());
}

BOOST_AUTO_TEST_CASE(without_save_best_the_last_step_is_evaluated_once) {
  Scripted script(every_two(4), {5, 3});
  const TrainOutcome outcome = script.run({}, false);
  BOOST_TEST((script.partial_evaluations == Steps{2}));
  BOOST_TEST((script.full_evaluations == Steps{4}));
  BOOST_TEST(std::isnan(outcome.best.loss));
}

BOOST_AUTO_TEST_CASE(a_run_stopped_by_patience_continues_with_more_patience) {
  const std::vector<double> losses = {5, 3, 4, 3, 2, 6, 7, 8, 1};
  Scripted script(every_two(18, 3), losses);
  const TrainOutcome outcome = script.run();
  BOOST_TEST(outcome.step == 16);
  BOOST_TEST(outcome.out_of_patience);
  BOOST_TEST(!outcome.stopped);
  BOOST_TEST(outcome.best.step == 10);
  BOOST_TEST(outcome.best.since == 3);
  BOOST_TEST(outcome.evaluation.loss == -92);  // from the full evaluation at the end of the run
  BOOST_TEST((script.kept == Steps{2, 4, 10}));
  BOOST_TEST(script.last.validation.size() == 9U);  // the history was saved

  // Resuming with the same patience only repeats the final evaluation.
  const TrainOutcome again = script.run(script.last);
  BOOST_TEST(again.step == 16);
  BOOST_TEST(again.out_of_patience);
  BOOST_TEST(again.evaluation.loss == -92);
  BOOST_TEST(script.last.validation.size() == 9U);
  script.settings.patience = 4;
  const TrainOutcome more = script.run(script.last);
  BOOST_TEST(!more.out_of_patience);
  BOOST_TEST(more.step == 18);
  BOOST_TEST(more.best.step == 18);
  BOOST_TEST((script.kept == Steps{2, 4, 10, 18}));

  // Patience also works without save_best.
  Scripted ends(every_two(18, 1), losses);
  BOOST_TEST(ends.run({}, false).step == 6);
  // A requested stop takes precedence over patience.
  Scripted stops(every_two(18, 1), losses);
  const TrainOutcome stopped = stops.run({}, true, 6);
  BOOST_TEST(stopped.stopped);
  BOOST_TEST(!stopped.out_of_patience);
  BOOST_TEST(std::isnan(stopped.evaluation.loss));
}

BOOST_AUTO_TEST_CASE(patience_stops_a_run_without_finite_losses) {
  Scripted script(every_two(18, 2), std::vector<double>(9, NAN));
  const TrainOutcome outcome = script.run();
  BOOST_TEST(outcome.step == 4);
  BOOST_TEST(outcome.out_of_patience);
  BOOST_TEST(script.kept.empty());
  BOOST_TEST(std::isnan(outcome.best.loss));
}

BOOST_AUTO_TEST_CASE(losses_over_a_different_number_of_batches_are_not_compared) {
  Scripted script(every_two(6, 1), {5, 6, 7});
  TrainHistory history;
  history.add(1, {2.0}, 20);
  history.add(1, {1.0}, 0);
  history.validation.emplace_back(1, 0.5);
  BOOST_TEST(script.run(history).step == 4);
  BOOST_TEST((script.kept == Steps{2}));
}

BOOST_AUTO_TEST_CASE(best_model_and_patience_require_held_out_data) {
  Scripted script(every_two(6), {5, 6, 7});
  const TrainTask task{&script.train, [](const BatchPart&) { return TrainBatch{}; }};
  const auto says = [](const std::string& part) {
    return [part](const Error& e) { return std::string(e.what()) == part; };
  };
  BOOST_CHECK_EXCEPTION(
      Trainer(*script.session, task,
              {.settings = script.settings, .save_best = [](const TrainHistory&) {}}),
      ArgumentError,
      says("the best model (save_best) requires held-out data, but the task has none"));
  script.settings.patience = 2;
  BOOST_CHECK_EXCEPTION(Trainer(*script.session, task, {.settings = script.settings}),
                        ArgumentError,
                        says("patience requires held-out data, but the task has none"));
}

/// Returns a text whose last tenth, the validation set, differs from the rest, so that the
/// validation loss soon rises.
std::string text() {
  std::string out;
  for (int i = 0; i < 90; ++i) out += "all work and no play makes jack " + std::to_string(i % 7);
  for (int i = 0; i < 10; ++i) out += "6 kcaj sekam yalp on dna krow lla ";
  return out;
}

struct Files {
  explicit Files(const testing::TemporaryFolder& folder, const std::string& name)
      : last(folder.path(name + ".weft")), best(folder.path(name + ".best.weft")) {}
  std::string last, best;
};

TrainOutcome run(LanguageModel model, const Files& files, std::int64_t stop_after = 0) {
  const TextData data(model.tokenizer.encode(text()), model.settings.validation_fraction);
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = 1});
  const auto saver = [&](const std::string& path) {
    return [&, path](const TrainHistory& history) {
      model.history = history;
      save_model(path, model);
    };
  };
  return Trainer(session, text_task(session, model, data, model.config.context),
                 {.settings = model.settings,
                  .history = model.history,
                  .save = saver(files.last),
                  .save_best = saver(files.best),
                  .stop_after = stop_after})
      .run();
}

BOOST_AUTO_TEST_CASE(a_resumed_run_finds_the_same_best_model_as_an_uninterrupted_run) {
  const auto tokenizer = CharacterTokenizer::from_text(text());
  GptConfig config;
  config.vocab = tokenizer.vocab_size();
  config.layers = 1;
  config.heads = 2;
  config.width = config.context = 16;
  const TrainSettings settings{.steps = 24,
                               .batch = 4,
                               .lr = 2e-2,
                               .min_lr = 1e-3,
                               .warmup = 2,
                               .eval_every = 3,
                               .eval_batches = 2,
                               .save_every = 5};
  const auto fresh = [&] { return trainable(build_language_model(config, tokenizer, settings)); };
  const testing::TemporaryFolder folder("best");
  const Files straight(folder, "straight"), parts(folder, "parts");
  const TrainOutcome whole = run(fresh(), straight);
  BOOST_TEST(whole.best.step > 3);
  BOOST_TEST(whole.best.step < 20);

  // Stop before the best step, at the best step, and long after the best step.
  run(fresh(), parts, 2);
  run(load_model<LanguageModel>(parts.last), parts, whole.best.step);
  run(load_model<LanguageModel>(parts.last), parts, 22);
  const TrainOutcome resumed = run(load_model<LanguageModel>(parts.last), parts);
  BOOST_TEST(resumed.best.step == whole.best.step);
  BOOST_TEST(resumed.best.loss == whole.best.loss);
  BOOST_TEST(resumed.best.since == whole.best.since);

  const LanguageModel a = load_model<LanguageModel>(straight.best),
                      b = load_model<LanguageModel>(parts.best);
  BOOST_TEST((a.history.validation == b.history.validation));
  BOOST_TEST(a.history.validation.back().first == whole.best.step);
  BOOST_TEST(a.store->names().size() > 20U);
  for (const std::string& name : a.store->names()) {
    if (a.store->kind(name) == VariableKind::cache) continue;
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(bitwise_equal(a.store->tensor(name), b.store->tensor(name)));
    }
  }
  // The best model can be resumed; the resumed run ends with the same history as the original run.
  const Files branch(folder, "branch");
  run(load_model<LanguageModel>(straight.best), branch);
  const LanguageModel c = load_model<LanguageModel>(straight.last),
                      d = load_model<LanguageModel>(branch.last);
  BOOST_TEST((c.history.train == d.history.train));
  BOOST_TEST((c.history.validation == d.history.validation));
  BOOST_TEST(!std::filesystem::exists(branch.best));  // the resumed run found no better model
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
