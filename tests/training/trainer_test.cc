#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <string>

#include "weft/core/error.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/token_batches.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/training/model.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/training_step.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(trainer)
namespace {

std::string text() {
  std::string out;
  for (int i = 0; i < 60; ++i)
    out += "the quick brown fox jumps over the lazy dog, " + std::to_string(i * i) + "\n";
  return out;
}

GptConfig small(std::int64_t vocab) {
  GptConfig config;
  config.vocab = vocab;
  config.layers = 2;
  config.heads = 2;
  config.width = 16;
  config.context = 12;
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0.1;
  return config;
}

TrainSettings settings(std::int64_t shards = 1) {
  TrainSettings s;
  s.shards = shards;
  s.steps = 12;
  s.batch = 4;
  s.lr = 3e-3;
  s.min_lr = 3e-4;
  s.warmup = 3;
  s.eval_every = 5;
  s.eval_batches = 2;
  s.save_every = 4;
  return s;
}

/// Trains `model` to the end or to step `stop_after`, and saves it to `path`.
TrainOutcome run(LanguageModel& model, const std::string& path, std::int64_t stop_after = 0,
                 int threads = 1, const World& world = {}) {
  const TextData data(model.tokenizer.encode(text()), model.settings.validation_fraction);
  Session session(*model.graph, model.store,
                  {.seed = model.settings.seed, .threads = threads, .world = world});
  Trainer trainer(session, text_task(session, model, data, model.config.context),
                  {.settings = model.settings,
                   .history = model.history,
                   .save =
                       [&](const TrainHistory& history) {
                         model.history = history;
                         save_model(path, model);
                       },
                   .stop_after = stop_after});
  const TrainOutcome outcome = trainer.run();
  model.history = trainer.history();
  session.gather_state();
  return outcome;
}

void check_equal(const LanguageModel& a, const LanguageModel& b) {
  int compared = 0;
  for (const std::string& name : a.store->names()) {
    if (a.store->kind(name) == VariableKind::cache) continue;
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(bitwise_equal(a.store->tensor(name), b.store->tensor(name)));
    }
    ++compared;
  }
  BOOST_TEST(compared > 60);
  BOOST_TEST((a.history.train == b.history.train));
}

LanguageModel fresh(std::int64_t shards = 1) {
  const auto tokenizer = CharacterTokenizer::from_text(text());
  return trainable(
      build_language_model(small(tokenizer.vocab_size()), tokenizer, settings(shards)));
}

BOOST_AUTO_TEST_CASE(training_on_several_ranks_matches_a_single_rank_bit_exactly) {
  const testing::TemporaryFolder files("trainer");
  LanguageModel alone = fresh(4);
  const TrainOutcome expected = run(alone, files.path("alone.weft"));
  for (const int ranks : {2, 3}) {
    ThreadWorld world(ranks, {.seed = 5});
    std::mutex mutex;
    world.run([&](const std::shared_ptr<Transport>& end) {
      const int rank = end->rank();
      LanguageModel model = fresh(4);
      const TrainOutcome found =
          run(model, files.path(fmt::format("{}.weft", rank)), 0, 1 + rank % 2, World(end));
      const std::lock_guard lock(mutex);
      BOOST_TEST(found.evaluation.loss == expected.evaluation.loss);
      check_equal(model, alone);
    });
  }
}

BOOST_AUTO_TEST_CASE(a_resumed_run_is_bit_exact) {
  const testing::TemporaryFolder files("trainer");
  LanguageModel straight = fresh();
  const TrainOutcome whole = run(straight, files.path("straight.weft"));
  BOOST_TEST(!whole.stopped);
  BOOST_TEST(whole.step == 12);
  BOOST_TEST(std::isfinite(whole.evaluation.loss));

  // Stop twice, the second time at a step without a periodic save. The parts of the run use
  // different numbers of threads.
  LanguageModel first = fresh();
  const TrainOutcome stopped = run(first, files.path("stopped.weft"), 4, 2);
  BOOST_TEST(stopped.stopped);
  BOOST_TEST(stopped.step == 4);
  BOOST_TEST(std::isnan(stopped.evaluation.loss));
  LanguageModel second = load_model<LanguageModel>(files.path("stopped.weft"));
  BOOST_TEST(run(second, files.path("stopped.weft"), 7).step == 7);
  LanguageModel third = load_model<LanguageModel>(files.path("stopped.weft"));
  BOOST_TEST((third.config == first.config));
  BOOST_TEST((third.settings == first.settings));
  BOOST_TEST(third.tokenizer.bytes() == first.tokenizer.bytes());
  const TrainOutcome resumed = run(third, files.path("resumed.weft"), 0, 5);
  BOOST_TEST(resumed.evaluation.loss == whole.evaluation.loss);
  check_equal(straight, third);
  check_equal(straight, load_model<LanguageModel>(files.path("resumed.weft")));
}

BOOST_AUTO_TEST_CASE(training_reduces_the_loss) {
  const testing::TemporaryFolder files("trainer");
  const auto tokenizer = CharacterTokenizer::from_text(text());
  TrainSettings s = settings();
  s.steps = 60;
  s.lr = 1e-2;
  s.min_lr = 1e-3;
  GptConfig config = small(tokenizer.vocab_size());
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0;
  LanguageModel model = trainable(build_language_model(config, tokenizer, s));
  const TrainOutcome outcome = run(model, files.path("m.weft"), 0, 2);
  BOOST_TEST(model.history.train.size() == 60U);
  // Before training, all characters are about equally likely.
  BOOST_TEST(std::abs(model.history.train.front().second -
                      std::log(static_cast<double>(config.vocab))) < 0.2);
  BOOST_TEST(outcome.evaluation.loss < 2.4);
  BOOST_TEST(model.history.validation.size() == 12U);
  BOOST_TEST(model.history.validation.back().first == 60);
}

BOOST_AUTO_TEST_CASE(a_diverged_run_is_reported) {
  const testing::TemporaryFolder files("trainer");
  LanguageModel model = fresh();
  {
    Session session(*model.graph, model.store, {.seed = 1, .threads = 1});
    session.initialise();
    const std::string name = "transformer.ln_f.weight";
    session.set_value(name, Tensor::full(DType::f32, {16}, NAN));
  }
  BOOST_CHECK_EXCEPTION(run(model, files.path("m.weft")), DataError, [](const Error& e) {
    return std::string(e.what()).find("the loss is nan at step 1: training has diverged") !=
           std::string::npos;
  });
  BOOST_TEST(!std::filesystem::exists(files.path("m.weft")));
}

// Trains a single parameter and records the learning rates, evaluations and metrics.
BOOST_AUTO_TEST_CASE(schedules_metrics_and_periodic_evaluations_are_applied) {
  const auto rates = [](LearningRate schedule) {
    Graph g;
    const Value x = g.input("x", DType::f32, {});
    const Variable w = g.variable("w", DType::f32, {});
    TrainSettings s{.steps = 6,
                    .lr = 0.4,
                    .min_lr = 0.1,
                    .schedule = schedule,
                    .warmup = 2,
                    .eval_every = 2,
                    .save_every = 0};
    Program train("train");
    add_training_step(train, x * w, s);
    Session session(g, {.seed = 1});
    struct Rates : TrainObserver {
      std::vector<double> rates;
      std::vector<bool> whole;
      void on_step(const StepReport& r) override { rates.push_back(r.learning_rate); }
      void on_evaluation(std::int64_t, const Evaluation&, bool all) override {
        whole.push_back(all);
      }
    } seen;
    TrainTask task{&train, [](const BatchPart& part) {
                     return TrainBatch{{{"x", Tensor::full(DType::f32, {}, 1 + part.step())}}, 1};
                   }};
    task.evaluate = [](bool whole) {
      return Evaluation{whole ? 2.0 : 3.0, {{"accuracy", whole ? 0.5 : 0.25}}};
    };
    Trainer trainer(session, task, {.settings = s, .observer = &seen});
    const TrainOutcome outcome = trainer.run();
    BOOST_TEST(outcome.evaluation.loss == 2);
    BOOST_TEST(outcome.evaluation.metrics.at(0).value == 0.5);
    BOOST_TEST((seen.whole == std::vector<bool>{false, false, true}));
    BOOST_TEST((trainer.history().metrics.at("accuracy") ==
                TrainHistory::Points{{2, 0.25}, {4, 0.25}, {6, 0.5}}));
    return seen.rates;
  };
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    BOOST_REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) BOOST_TEST(std::abs(a[i] - b[i]) < 1e-12);
  };
  near(rates(LearningRate::constant), {0.2, 0.4, 0.4, 0.4, 0.4, 0.4});
  near(rates(LearningRate::linear), {0.2, 0.4, 0.325, 0.25, 0.175, 0.1});
  near(rates(LearningRate::inverse_sqrt), {0.2, 0.4, 0.4 * std::sqrt(2. / 3), 0.4 * std::sqrt(.5),
                                           0.4 * std::sqrt(.4), 0.4 * std::sqrt(1. / 3)});
  near({rates(LearningRate::cosine)[3]}, {0.25});
}

BOOST_AUTO_TEST_CASE(errors_for_files_without_a_model_name_the_missing_part) {
  BOOST_CHECK_THROW(load_model<LanguageModel>("/nowhere/m.weft"), IoError);
  const testing::TemporaryFolder files("trainer");
  Graph g;
  Program p("p");
  p.output("y", g.input("x", DType::f32, {}) + 1.0);
  const auto refused = [&](std::vector<Attachment> attachments, const std::string& part) {
    save_checkpoint(files.path("other.weft"), VariableStore(), {p}, {std::move(attachments)});
    BOOST_CHECK_EXCEPTION(
        load_model<LanguageModel>(files.path("other.weft")), FormatError,
        [&](const Error& e) { return std::string(e.what()).find(part) != std::string::npos; });
  };
  refused({}, "other.weft holds no language model: the attachment 'model.config' is missing");
  refused({{kConfigPart, "weft.config.vit", ""}},
          "holds no language model: the configuration type is 'weft.config.vit', not");
  refused({{kConfigPart, "weft.config.gpt", ""}},
          "holds no language model: the program 'evaluate' is missing");
  const auto tokenizer = CharacterTokenizer::from_text("ab");
  BOOST_CHECK_EXCEPTION(trainable(build_language_model(small(3), tokenizer, settings())),
                        ArgumentError, [](const Error& e) {
                          return std::string(e.what()) ==
                                 "the model's vocabulary size is 3, but the tokenizer's is 2";
                        });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
