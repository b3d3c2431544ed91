// Image classifiers: model files, resumed runs, predictions, errors.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/functions.h"
#include "weft/models/data/images/image_folder.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/tasks/image_classification/presets.h"
#include "weft/models/training/model.h"
#include "weft/models/training/trainable.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/image_files.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_classifier)
namespace {

using testing::message_contains;
using testing::TemporaryFolder;

/// Returns noisy 6 x 6 images with one bright half. The class is the position of that half: left,
/// right, upper or lower.
ImageSet halves(std::int64_t count, std::uint64_t seed) {
  ImageSet set{Tensor::empty(DType::f32, {count, 1, 6, 6}), {}, {"left", "right", "up", "down"}};
  const RandomStream stream{seed};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(i % 4);
    set.labels.push_back(label);
    for (std::int64_t p = 0; p < 36; ++p) {
      const std::int64_t y = p / 6, x = p % 6;
      const bool bright = label < 2 ? (x < 3) == (label == 0) : (y < 3) == (label == 2);
      const float noise = uniform_float(stream.word(static_cast<std::uint64_t>(i * 36 + p)));
      set.images.mutable_data<float>()[i * 36 + p] = 0.5F * noise + (bright ? 0.4F : 0.0F);
    }
  }
  return set;
}

VitConfig small() {
  VitConfig c;
  c.channels = 1;
  c.image_height = c.image_width = 6;
  c.patch_height = c.patch_width = 3;
  c.layers = 2;
  c.heads = 2;
  c.width = 16;
  c.inner = 32;
  c.dropout = c.attention_dropout = 0.1;
  c.pooling = VitPooling::mean;
  c.initializer_range = 0.1;
  return c;
}

TrainSettings settings() {
  TrainSettings s;
  s.steps = 12;
  s.batch = 8;
  s.lr = 1e-2;
  s.min_lr = 1e-3;
  s.warmup = 3;
  s.eval_every = 5;
  s.eval_batches = 2;
  s.save_every = 4;
  return s;
}

ImageClassifier fresh(const TrainSettings& s = settings()) {
  const ImageSet set = halves(200, 1);
  return trainable(build_image_classifier(small(), set.classes, normalisation_of(set),
                                          {.padding = 1, .shift = 0.5}, s));
}

/// Trains `model` to the end or to step `stop_after`, and saves it to `path`.
TrainOutcome run(ImageClassifier& model, const std::string& path, std::int64_t stop_after = 0,
                 int threads = 1) {
  const ImageSet train = halves(200, 1), validation = halves(24, 2);
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  Trainer trainer(session, image_task(session, model, train, validation),
                  {.settings = model.settings,
                   .history = model.history,
                   .save =
                       [&](const TrainHistory& history) {
                         model.history = history;
                         save_model(path, model);
                       },
                   .stop_after = stop_after});
  return trainer.run();
}

void check_equal(const ImageClassifier& a, const ImageClassifier& b) {
  for (const std::string& name : a.store->names())
    BOOST_TEST(bitwise_equal(a.store->tensor(name), b.store->tensor(name)), name);
  BOOST_TEST(a.store->names().size() > 60U);
  BOOST_TEST((a.history.train == b.history.train));
}

BOOST_AUTO_TEST_CASE(a_resumed_training_run_is_bit_exact) {
  const TemporaryFolder files("classifier");
  ImageClassifier straight = fresh();
  const TrainOutcome whole = run(straight, files.path("straight.weft"));
  BOOST_TEST(whole.step == 12);
  BOOST_TEST(whole.evaluation.metrics.at(0).name == "accuracy");
  ImageClassifier first = fresh();
  BOOST_TEST(run(first, files.path("m.weft"), 5, 2).stopped);
  ImageClassifier second = load_model<ImageClassifier>(files.path("m.weft"));
  BOOST_TEST((second.config == first.config));
  BOOST_TEST((second.classes() == first.classes()));
  BOOST_TEST((second.images.normalisation.mean == first.images.normalisation.mean));
  BOOST_TEST((second.images.normalisation.deviation == first.images.normalisation.deviation));
  BOOST_TEST((second.augmentation == first.augmentation));
  BOOST_TEST((second.settings == first.settings));
  const TrainOutcome resumed = run(second, files.path("m.weft"), 0, 5);
  BOOST_TEST(resumed.evaluation.loss == whole.evaluation.loss);
  check_equal(straight, second);
  check_equal(straight, load_model<ImageClassifier>(files.path("m.weft")));
}

BOOST_AUTO_TEST_CASE(a_classifier_is_trained_saved_loaded_and_used) {
  const TemporaryFolder files("classifier");
  TrainSettings s = settings();
  s.steps = 150;
  s.batch = 16;
  s.lr = 5e-3;
  s.eval_every = 50;
  VitConfig config = small();
  config.dropout = config.attention_dropout = 0;
  const ImageSet set = halves(200, 1);
  ImageClassifier model =
      trainable(build_image_classifier(config, set.classes, normalisation_of(set), {}, s));
  const TrainOutcome outcome = run(model, files.path("m.weft"), 0, 2);
  // Before training, all classes are about equally likely.
  BOOST_TEST(std::abs(model.history.train.front().second - std::log(4.0)) < 0.5);
  BOOST_TEST(outcome.evaluation.metrics.at(0).value > 0.95);
  BOOST_TEST(model.history.metrics.at("accuracy").size() == 3U);

  const ImageClassifier loaded = load_model<ImageClassifier>(files.path("m.weft"));
  Session session(*loaded.graph, loaded.store);
  const ImageSet held_out = halves(300, 3);  // needs more than one batch
  const ImageEvaluation found = evaluate_images(session, loaded, held_out);
  BOOST_TEST(found.matrix.total() == 300);
  BOOST_TEST(found.matrix.accuracy() > 0.95);
  const Tensor p = class_probabilities(session, loaded, held_out.images);
  BOOST_TEST((p.sizes() == Sizes{300, 4}));
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < 300; ++i) {
    double sum = 0;
    std::int64_t best = 0;
    for (std::int64_t c = 0; c < 4; ++c) {
      sum += p.at(i * 4 + c);
      if (p.at(i * 4 + c) > p.at(i * 4 + best)) best = c;
    }
    BOOST_TEST(std::abs(sum - 1) < 1e-5);
    right += best == held_out.labels[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  BOOST_TEST(right == found.matrix.correct());
  // An image with a different size and three channels is resized and converted.
  Tensor large = Tensor::zeros(DType::f32, {3, 40, 30});
  for (std::int64_t i = 0; i < large.numel(); ++i)
    large.mutable_data<float>()[i] = i % 30 < 15 ? 0.65F : 0.25F;
  const std::vector<ClassScore> scores = classify(session, loaded, large, 2);
  BOOST_REQUIRE(scores.size() == 2U);
  BOOST_TEST(scores[0].name == "left");
  BOOST_TEST(scores[0].probability >= scores[1].probability);
  BOOST_TEST(classify(session, loaded, large, 99).size() == 4U);
  const std::string svg = attention_svg(loaded, held_out.image(0), "a < b");
  BOOST_TEST(svg.find("layer 2") != std::string::npos);
  BOOST_TEST(svg.find("a &lt; b") != std::string::npos);
  BOOST_TEST(svg.find("nan") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(image_classifier_errors_name_the_problem) {
  const TemporaryFolder files("classifier");
  const ImageSet set = halves(8, 1);
  const auto rejects = [&](auto&& change, const std::string& message) {
    VitConfig config = small();
    std::vector<std::string> classes = set.classes;
    ImageNormalisation normalisation = normalisation_of(set);
    change(config, classes, normalisation);
    BOOST_CHECK_EXCEPTION(
        trainable(build_image_classifier(config, classes, normalisation, {}, settings())),
        ArgumentError, message_contains({message}));
  };
  rejects([](auto&, auto& classes, auto&) { classes.resize(1); },
          "a classifier needs at least two classes, not 1");
  rejects([](auto&, auto&, auto& n) { n.mean.push_back(0); },
          "2 means and 1 deviations do not match images with 1 channels");
  rejects([](auto&, auto&, auto& n) { n.deviation[0] = 0; },
          "a deviation must be positive and finite, not 0");
  ImageClassifier model = fresh();
  Session session(*model.graph, model.store, {.seed = 1});
  const Tensor wrong = Tensor::zeros(DType::f32, {2, 1, 8, 6});
  BOOST_CHECK_EXCEPTION(
      class_probabilities(session, model, wrong), ShapeError,
      message_contains({"the model requires images f32[count, 1, 6, 6], not f32[2, 1, 8, 6]"}));
  BOOST_CHECK_EXCEPTION(attention_svg(model, wrong, "t"), ShapeError,
                        message_contains({"an image f32[1, 6, 6], not f32[2, 1, 8, 6]"}));
  ImageSet other = set;
  other.classes = {"a", "b"};
  BOOST_CHECK_EXCEPTION(
      evaluate_images(session, model, other), DataError,
      message_contains(
          {"the classes (a, b), but the model has the classes (left, right, up, down)"}));
  BOOST_CHECK_EXCEPTION(evaluate_images(session, model, set.slice(0, 0)), DataError,
                        message_contains({"there are no images to evaluate on"}));

  Program p("p");
  Graph g;
  p.output("y", g.input("x", DType::f32, {}) + 1.0);
  save_checkpoint(files.path("gpt.weft"), VariableStore(), {p},
                  {.attachments = {{kConfigPart, "weft.config.gpt", ""}}});
  BOOST_CHECK_EXCEPTION(load_model<ImageClassifier>(files.path("gpt.weft")), FormatError,
                        message_contains({"gpt.weft holds no image classifier"}));
  session.initialise();
  model.images.classes.resize(1);
  save_model(files.path("one.weft"), model);
  BOOST_CHECK_EXCEPTION(
      load_model<ImageClassifier>(files.path("one.weft")), FormatError,
      message_contains(
          {"holds no image classifier: a classifier needs at least two classes, not 1"}));
}

// Trains on the real digits in the folder WEFT_DATA, if that environment variable is set. The
// preset trains for 1500 steps, but 60 are enough to exceed 80% accuracy.
BOOST_AUTO_TEST_CASE(sixty_steps_on_real_digits_reach_80_percent_accuracy) {
  const char* folder = std::getenv("WEFT_DATA");
  if (folder == nullptr) {
    BOOST_TEST_MESSAGE("skipped: WEFT_DATA is not set to the folder that contains optdigits/");
    return;
  }
  const TemporaryFolder files("digits");
  Preset<VitRecipe> preset = find_preset(vit_presets(), "digits");
  preset.training.steps = 60;
  preset.training.warmup = 10;
  const ImageData data = load_image_data(std::string(folder) + "/optdigits", {1, 8, 8}, 1);
  BOOST_TEST(data.train.count() == 3823);
  BOOST_TEST(data.test.count() == 1797);
  ImageClassifier model = trainable(
      build_image_classifier(preset.model.model, data.train.classes, normalisation_of(data.train),
                             preset.model.augmentation, preset.training));
  Session session(*model.graph, model.store, {.seed = 1});
  const auto [train, validation] = split(data.train, 0.1, 1);
  Trainer trainer(session, image_task(session, model, train, validation),
                  {.settings = model.settings});
  BOOST_TEST(trainer.run().evaluation.metrics.at(0).value > 0.8);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
