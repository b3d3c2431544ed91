#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>

#include "weft/core/error.h"
#include "weft/models/data/text.h"
#include "weft/models/train/checkpoint.h"
#include "weft/models/train/trainer.h"

namespace weft {
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

TrainSettings settings() {
  TrainSettings s;
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

class Files {
 public:
  Files()
      : folder_(std::filesystem::temp_directory_path() /
                ("weft_trainer_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

/// Trains `model` until the end or `stop_after`, saving to `path`.
TrainOutcome run(LanguageModel& model, const std::string& path, std::int64_t stop_after = 0,
                 int threads = 1) {
  const TextData data(model.tokenizer.encode(text()), model.settings.validation_fraction);
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  Trainer trainer(session, model.programs.train, model.programs.evaluate, data,
                  {.window = model.config.context,
                   .settings = model.settings,
                   .history = model.history,
                   .save =
                       [&](const TrainHistory& history) {
                         model.history = history;
                         save_language_model(path, model);
                       },
                   .stop_after = stop_after});
  return trainer.run();
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

LanguageModel fresh() {
  const auto tokenizer = CharacterTokenizer::from_text(text());
  return make_language_model(small(tokenizer.vocab_size()), tokenizer, settings());
}

BOOST_AUTO_TEST_CASE(a_resumed_run_has_the_bits_of_one_that_never_stopped) {
  const Files files;
  LanguageModel straight = fresh();
  const TrainOutcome whole = run(straight, files.path("straight.weft"));
  BOOST_TEST(!whole.stopped);
  BOOST_TEST(whole.step == 12);
  BOOST_TEST(std::isfinite(whole.validation_loss));

  // Stopped twice, the second time on a step that is no checkpoint; other numbers of threads.
  LanguageModel first = fresh();
  const TrainOutcome stopped = run(first, files.path("stopped.weft"), 4, 2);
  BOOST_TEST(stopped.stopped);
  BOOST_TEST(stopped.step == 4);
  BOOST_TEST(std::isnan(stopped.validation_loss));
  LanguageModel second = load_language_model(files.path("stopped.weft"));
  BOOST_TEST(run(second, files.path("stopped.weft"), 7).step == 7);
  LanguageModel third = load_language_model(files.path("stopped.weft"));
  BOOST_TEST((third.config == first.config));
  BOOST_TEST((third.settings == first.settings));
  BOOST_TEST(third.tokenizer.characters() == first.tokenizer.characters());
  const TrainOutcome resumed = run(third, files.path("resumed.weft"), 0, 5);
  BOOST_TEST(resumed.validation_loss == whole.validation_loss);
  check_equal(straight, third);
  check_equal(straight, load_language_model(files.path("resumed.weft")));
}

BOOST_AUTO_TEST_CASE(training_learns) {
  const Files files;
  const auto tokenizer = CharacterTokenizer::from_text(text());
  TrainSettings s = settings();
  s.steps = 60;
  s.lr = 1e-2;
  s.min_lr = 1e-3;
  GptConfig config = small(tokenizer.vocab_size());
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0;
  LanguageModel model = make_language_model(config, tokenizer, s);
  const TrainOutcome outcome = run(model, files.path("m.weft"), 0, 2);
  BOOST_TEST(model.history.train.size() == 60U);
  // At the start every character is about as likely as any other.
  BOOST_TEST(std::abs(model.history.train.front().second -
                      std::log(static_cast<double>(config.vocab))) < 0.2);
  BOOST_TEST(outcome.validation_loss < 2.4);
  BOOST_TEST(model.history.validation.size() == 12U);
  BOOST_TEST(model.history.validation.back().first == 60);
}

BOOST_AUTO_TEST_CASE(a_diverged_run_says_so) {
  const Files files;
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

BOOST_AUTO_TEST_CASE(a_file_without_a_model_is_refused_by_name) {
  BOOST_CHECK_THROW(load_language_model("/nowhere/m.weft"), IoError);
  const auto tokenizer = CharacterTokenizer::from_text("ab");
  BOOST_CHECK_EXCEPTION(
      make_language_model(small(3), tokenizer, settings()), ArgumentError, [](const Error& e) {
        return std::string(e.what()) == "the model has a vocabulary of 3, the tokenizer one of 2";
      });
}

}  // namespace
}  // namespace weft
