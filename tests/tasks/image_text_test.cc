// Contrastive training on made-up digits with captions, and zero-shot classification with the
// result.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/tasks/image_text/presets.h"
#include "weft/models/tasks/image_text/zero_shot.h"
#include "weft/models/training/trainable.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/training/task_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_text_task_suite)
namespace {

using testing::message_contains;
using testing::TemporaryFolder;

const std::vector<std::string> kDigits = {"zero", "one", "two",   "three", "four",
                                          "five", "six", "seven", "eight", "nine"};

/// Returns noisy 8 x 8 images of digits in the style of a seven-segment display, with captions.
ImageCaptions digits(std::int64_t count, std::uint64_t seed) {
  // The segments of every digit: top, upper left, upper right, middle, lower left, lower right,
  // bottom.
  constexpr std::array<unsigned, 10> kSegments = {0b1110111, 0b0010010, 0b1011101, 0b1011011,
                                                  0b0111010, 0b1101011, 0b1101111, 0b1010010,
                                                  0b1111111, 0b1111011};
  ImageCaptions set;
  set.images.images = Tensor::empty(DType::f32, {count, 1, 8, 8});
  auto* out = set.images.images.mutable_data<float>();
  const RandomStream stream{seed};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto digit = static_cast<std::size_t>(stream.word(static_cast<std::uint64_t>(i)) % 10);
    const auto on = [&](int segment) { return (kSegments[digit] >> (6 - segment) & 1) != 0; };
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        const bool across = x > 1 && x < 6;
        const bool lit = (y == 0 && across && on(0)) || (x == 1 && y < 4 && on(1)) ||
                         (x == 6 && y < 4 && on(2)) || (y == 3 && across && on(3)) ||
                         (x == 1 && y > 3 && on(4)) || (x == 6 && y > 3 && on(5)) ||
                         (y == 7 && across && on(6));
        const auto place = static_cast<std::uint64_t>(count + i * 64 + y * 8 + x);
        *out++ = 0.4F * uniform_float(stream.word(place)) + (lit ? 0.6F : 0.0F);
      }
    }
    set.images.labels.push_back(static_cast<std::int32_t>(i));
    set.captions.push_back("a picture of a " + kDigits[digit]);
  }
  return set;
}

ImageTextConfig small_config(ImageTextLoss loss) {
  ImageTextConfig c;
  for (const Preset<ImageTextRecipe>& preset : image_text_presets()) {
    if (preset.name == (loss == ImageTextLoss::softmax ? "clip-mini" : "siglip-mini"))
      c = preset.model.model;
  }
  c.image.channels = 1;
  c.image.image_height = c.image.image_width = 8;
  c.image.patch_height = c.image.patch_width = 2;
  c.text.layers = c.image.layers = 1;
  c.text.heads = c.image.heads = 2;
  c.text.width = c.image.width = c.projection = 32;
  c.text.inner = c.image.inner = 64;
  c.text.initializer_range = c.image.initializer_range = 0.1;
  return c;
}

TrainSettings small_settings() {
  TrainSettings s;
  s.steps = 600;
  s.batch = 8;  // larger batches of ten captions contain most of them several times
  s.lr = 3e-3;
  s.min_lr = 1e-4;
  s.warmup = 10;
  s.eval_every = 300;
  s.eval_batches = 1;
  return s;
}

ImageTextModel new_model(ImageTextLoss loss, const ImageCaptions& data,
                         const TrainSettings& settings) {
  ImageTextConfig config = small_config(loss);
  const Tokenizer tokenizer =
      SentencePieceTokenizer::train(data.captions, SentencePieceOptions{.vocab = 60});
  config.text.vocab = tokenizer.vocab_size();
  config.text.padding_id = tokenizer.pad_id();
  config.end_id = tokenizer.sep_id();
  ImageInfo images;
  images.normalisation = normalisation_of(data.images);
  return build_image_text_model(config, tokenizer, {}, images, {}, settings);
}

TrainOutcome train(ImageTextModel& model, const ImageCaptions& data,
                   const ImageCaptions& held_out) {
  Session session(*model.graph, model.store, {.seed = 1});
  Trainer trainer(session, image_text_train_task(session, model, data, held_out),
                  {.settings = model.settings, .history = model.history});
  return trainer.run();
}

BOOST_AUTO_TEST_CASE(a_model_trained_on_captions_classifies_digits_without_labels) {
  const ImageCaptions data = digits(600, 1), held_out = digits(100, 2);
  for (const ImageTextLoss loss : {ImageTextLoss::softmax, ImageTextLoss::sigmoid}) {
    BOOST_TEST_CONTEXT(choice_name(loss)) {
      TrainSettings settings = small_settings();
      // The sigmoid loss first has to learn its bias.
      if (loss == ImageTextLoss::sigmoid) settings.steps = 1800;
      ImageTextModel model = trainable(new_model(loss, data, settings));
      const TrainOutcome outcome = train(model, data, held_out);
      BOOST_TEST(outcome.evaluation.metrics.at(0).name == "image_recall@1");
      BOOST_TEST(outcome.evaluation.metrics.at(0).value > 0.9);
      BOOST_TEST(outcome.evaluation.metrics.at(2).value > 0.9);
      Session session(*model.graph, model.store);
      const Tensor logits = zero_shot_logits(session, model, held_out.images.images, kDigits,
                                             {.templates = {"a picture of a {}"}});
      int right = 0;
      for (std::int64_t i = 0; i < 100; ++i) {
        std::int64_t best = 0;
        for (std::int64_t j = 1; j < 10; ++j) {
          if (logits.at(i * 10 + j) > logits.at(i * 10 + best)) best = j;
        }
        right += held_out.captions[static_cast<std::size_t>(i)].ends_with(
                     " " + kDigits[static_cast<std::size_t>(best)])
                     ? 1
                     : 0;
      }
      BOOST_TEST(right > 90);
    }
  }
}

BOOST_AUTO_TEST_CASE(texts_are_padded_to_the_context_if_the_last_token_is_pooled) {
  const ImageCaptions data = digits(8, 1);
  for (const ImageTextLoss loss : {ImageTextLoss::softmax, ImageTextLoss::sigmoid}) {
    const ImageTextModel model = new_model(loss, data, small_settings());
    const TextRow row = model.reader().row("a picture of a two");
    const NamedTensors inputs = model.text_inputs(std::vector<const TextRow*>{&row, &row});
    const bool last = loss == ImageTextLoss::sigmoid;
    BOOST_TEST(inputs.size() == (last ? 1U : 2U));
    BOOST_TEST((inputs[0].second.sizes() == Sizes{2, last ? 32 : 16}));
    BOOST_TEST(inputs[0].second.at(0) == row.ids.front());
  }
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
  const ImageCaptions data = digits(64, 1);
  TrainSettings settings = small_settings();
  settings.steps = 4;
  settings.warmup = 1;
  settings.shards = 2;
  std::vector<std::vector<std::pair<std::int64_t, double>>> losses;
  for (const int threads : {1, 3}) {
    ImageTextModel model = trainable(new_model(ImageTextLoss::softmax, data, settings));
    Session session(*model.graph, model.store, {.seed = 1, .threads = threads});
    Trainer trainer(session, image_text_train_task(session, model, data, {}),
                    {.settings = settings, .history = model.history});
    trainer.run();
    losses.push_back(trainer.history().train);
  }
  BOOST_TEST((losses[0] == losses[1]));
}

BOOST_AUTO_TEST_CASE(the_scale_of_exported_models_is_at_most_100) {
  const ImageCaptions data = digits(64, 1);
  TrainSettings settings = small_settings();
  settings.steps = 2;
  settings.warmup = 1;
  ImageTextModel model = trainable(new_model(ImageTextLoss::softmax, data, settings));
  Session session(*model.graph, model.store, {.seed = 1});
  session.initialise();
  session.set_value("logit_scale", Tensor::full(DType::f32, {}, 6));
  model.history.train = {{1, 1.0}};
  const FolderModel folder = model.to_folder();
  const TensorMap weights = folder.weights({{"logit_scale", session.value("logit_scale")}});
  BOOST_TEST(std::abs(weights.at("logit_scale").at(0) - std::log(100)) < 1e-6);
  // The training step limits the scale, too, so that its gradient is 0.
  Session run(*model.graph, model.store, {.seed = 1});
  const Tensor before = zero_shot_logits(run, model, data.images.slice(0, 4).images, {"one"});
  for (std::int64_t i = 0; i < 4; ++i) BOOST_TEST(std::abs(before.at(i)) <= 100.001);
}

BOOST_AUTO_TEST_CASE(caption_files_are_read_relative_to_their_folder_or_rejected_by_line) {
  const TemporaryFolder files("captions");
  const std::string image = read_whole_file(std::string(WEFT_FIXTURES) + "/captions/0.png");
  files.write("pictures/a.png", image);
  const auto read = [&](const std::string& lines) {
    const std::vector<std::string> paths = {files.write("lines.tsv", lines)};
    return read_image_captions(paths, {1, 4, 4});
  };
  const ImageCaptions found = read("pictures/a.png\ta left half\n\n  pictures/a.png \t again \n");
  BOOST_TEST(found.captions == (std::vector<std::string>{"a left half", "again"}),
             boost::test_tools::per_element());
  BOOST_TEST((found.images.images.sizes() == Sizes{2, 1, 4, 4}));
  const auto rejects = [&](const std::string& lines, std::vector<std::string> parts) {
    BOOST_CHECK_EXCEPTION(read(lines), Error, message_contains(std::move(parts)));
  };
  rejects("pictures/a.png a caption\n", {"lines.tsv:1", "separated by a tab"});
  rejects("\npictures/a.png\ta\tb\n", {"lines.tsv:2", "separated by a tab"});
  rejects("pictures/a.png\t \n", {"lines.tsv:1", "the caption is empty"});
  rejects("\ta caption\n", {"lines.tsv:1", "the image file is empty"});
  rejects("pictures/b.png\ta caption\n", {"lines.tsv:1", "pictures/b.png"});
  rejects("lines.tsv\ta caption\n", {"lines.tsv:1"});
  rejects("\n", {"there are no lines with images"});
}

BOOST_AUTO_TEST_CASE(models_are_trained_and_exported_by_the_program) {
  const TaskShell weft(*find_task("image-text"));
  const std::string model = weft.path("m.weft");
  for (const std::string preset : {"clip-mini", "siglip-mini"}) {
    BOOST_TEST_CONTEXT(preset) {
      const Outcome trained =
          weft.train_new("--preset " + preset + " --test " + std::string(WEFT_FIXTURES) +
                         "/captions/captions.tsv --out " + model);
      BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
      BOOST_TEST(trained.out.find("recall from images to captions") != std::string::npos);
      BOOST_TEST(read_whole_file(weft.path("m.similarity.svg")).starts_with("<svg"));
      const std::string folder = weft.path(preset + "-folder");
      const Outcome made = weft.run("convert " + model + " --out " + folder);
      BOOST_TEST_REQUIRE(made.code == 0, made.err);
      const std::string classify =
          " {data}/../../captions/0.png --json --labels 'a bright left half' 'other'";
      const Outcome a = weft.run("classify " + model + classify),
                    b = weft.run("classify " + folder + classify);
      BOOST_TEST_REQUIRE(a.code == 0, a.err);
      BOOST_TEST_REQUIRE(b.code == 0, b.err);
      BOOST_TEST(a.out == b.out);
      BOOST_TEST(weft.with_data("evaluate " + folder).code == 0);
    }
  }
  check_error(weft.train_new("--loss softmax --logit-bias -3 --out " + weft.path("n.weft")), 2,
              "--logit-bias has no effect without --loss sigmoid");
  check_error(weft.train_new("--text-rotary-base 5 --out " + weft.path("n.weft")), 2,
              "text tower: ");
  check_error(weft.run("train image-text --out " + weft.path("n.weft")), 2, "--data is required");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
