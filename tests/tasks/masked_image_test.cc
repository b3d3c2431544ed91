// Masked-image models: masking, training, resumed runs, and fine-tuning from pre-trained weights.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/tasks/common/image_data.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/tasks/masked_image/masked_image_task.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(masked_image)
namespace {

using testing::message_contains;
using testing::TemporaryFolder;

/// Returns noisy 6 x 8 images with 2 channels, which have horizontal or vertical stripes at one of
/// two positions. The masked patches can be predicted from the visible patches.
ImageSet stripes(std::int64_t count, std::uint64_t seed) {
  ImageSet set{Tensor::empty(DType::f32, {count, 2, 6, 8}), {}, {"across", "along"}};
  const RandomStream stream{seed};
  for (std::int64_t i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<std::int32_t>(i % 2));
    for (std::int64_t p = 0; p < 96; ++p) {
      const std::int64_t y = p / 8 % 6, x = p % 8;
      const bool light = ((i % 2 == 0 ? y : x) + i / 2) % 2 == 0;
      const float noise = uniform_float(stream.word(static_cast<std::uint64_t>(i * 96 + p)));
      set.images.mutable_data<float>()[i * 96 + p] = 0.1F * noise + (light ? 0.8F : 0.1F);
    }
  }
  return set;
}

VitConfig small() {
  VitConfig c;
  c.channels = 2;
  c.image_height = 6;
  c.image_width = 8;
  c.patch_height = c.patch_width = 2;
  c.layers = 2;
  c.heads = 2;
  c.width = 16;
  c.inner = 32;
  c.dropout = c.attention_dropout = 0.1;
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

MaskedImageModel fresh(const VitConfig& config = small(), const TrainSettings& s = settings()) {
  return trainable(build_masked_image_model(config, normalisation_of(stripes(80, 1)),
                                            {.shift = 0.5}, {.mask_ratio = 0.5}, s));
}

TrainOutcome run(MaskedImageModel& model, const ImageSet& train, const std::string& path,
                 std::int64_t stop_after = 0, int threads = 1) {
  const ImageSet validation = stripes(24, 2);
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  Trainer trainer(session, masked_image_task(session, model, train, validation),
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

void check_equal(const MaskedImageModel& a, const MaskedImageModel& b) {
  for (const std::string& name : a.store->names())
    BOOST_TEST(bitwise_equal(a.store->tensor(name), b.store->tensor(name)), name);
  BOOST_TEST(a.store->names().size() > 60U);
  BOOST_TEST((a.history.train == b.history.train));
}

BOOST_AUTO_TEST_CASE(a_resumed_masked_image_run_is_bit_exact) {
  const TemporaryFolder files("masked_image");
  const ImageSet train = stripes(80, 1);
  MaskedImageModel straight = fresh();
  const TrainOutcome whole = run(straight, train, files.path("straight.weft"));
  BOOST_TEST(whole.step == 12);
  BOOST_TEST(whole.evaluation.metrics.empty());
  MaskedImageModel first = fresh();
  // Different labels do not change the result, because pre-training does not read labels.
  ImageSet other = train;
  std::fill(other.labels.begin(), other.labels.end(), 1);
  BOOST_TEST(run(first, other, files.path("m.weft"), 5, 2).stopped);
  MaskedImageModel second = load_model<MaskedImageModel>(files.path("m.weft"));
  BOOST_TEST((second.config == first.config));
  BOOST_TEST((second.images.normalisation.mean == first.images.normalisation.mean));
  BOOST_TEST((second.images.normalisation.deviation == first.images.normalisation.deviation));
  BOOST_TEST((second.augmentation == first.augmentation));
  BOOST_TEST((second.masking == first.masking));
  BOOST_TEST((second.settings == first.settings));
  const TrainOutcome resumed = run(second, train, files.path("m.weft"), 0, 5);
  BOOST_TEST(resumed.evaluation.loss == whole.evaluation.loss);
  check_equal(straight, second);
  check_equal(straight, load_model<MaskedImageModel>(files.path("m.weft")));
}

BOOST_AUTO_TEST_CASE(reconstruction_of_stripes_beats_the_baselines) {
  const TemporaryFolder files("masked_image");
  TrainSettings s = settings();
  s.steps = 250;
  s.batch = 16;
  s.lr = 5e-3;
  s.warmup = 20;
  s.eval_every = s.save_every = 0;
  VitConfig config = small();
  config.dropout = config.attention_dropout = 0;
  config.pooling = VitPooling::mean;
  MaskedImageModel model =
      trainable(build_masked_image_model(config, normalisation_of(stripes(80, 1)), {}, {}, s));
  const ImageSet train = stripes(80, 1), held_out = stripes(30, 3);
  const double loss = run(model, train, files.path("m.weft")).evaluation.loss;
  const MaskedImageBaselines without = masked_image_baselines(model, train, held_out);
  BOOST_TEST(loss < 0.2 * without.visible_mean);
  BOOST_TEST(loss < 0.2 * without.training_median);
}

BOOST_AUTO_TEST_CASE(masked_patches_have_no_influence_and_visible_patches_are_kept) {
  for (const bool distillation : {false, true}) {
    VitConfig config = small();
    config.distillation = distillation;
    MaskedImageModel model = fresh(config);
    Session session(*model.graph, model.store, {.seed = 1});
    session.initialise();
    const Tensor mask = held_out_masks(model, {0, 5});
    const Tensor images = stripes(2, 4).images;
    const auto hidden = [&](std::int64_t i) {
      const std::int64_t y = i / 8 % 6, x = i % 8;
      return mask.data<std::int32_t>()[i / 96 * 12 + y / 2 * 4 + x / 2] != 0;
    };
    Tensor other = images.clone();
    for (std::int64_t i = 0; i < other.numel(); ++i) {
      if (hidden(i)) other.mutable_data<float>()[i] = 0.3F;
    }
    const Results a =
        session.run(model.program("reconstruct"), {{"images", images}, {"mask", mask}});
    const Results b =
        session.run(model.program("reconstruct"), {{"images", other}, {"mask", mask}});
    BOOST_TEST((a["pixels"].sizes() == images.sizes()));
    BOOST_TEST(bitwise_equal(a["pixels"], b["pixels"]));
    BOOST_TEST(bitwise_equal(a["reconstruction"], b["reconstruction"]));
    int filled = 0;
    for (std::int64_t i = 0; i < images.numel(); ++i) {
      const Tensor& from = hidden(i) ? a["pixels"] : images;
      BOOST_REQUIRE(a["reconstruction"].at(i) == from.at(i));
      filled += hidden(i) ? 1 : 0;
    }
    BOOST_TEST(filled == 96);  // 6 of 12 patches of 2 x 2, 2 channels, 2 images

    // The loss is the mean absolute error of the masked pixels, in units of the standard deviation.
    double sum = 0;
    for (std::int64_t i = 0; i < images.numel(); ++i) {
      if (hidden(i))
        sum += std::abs(a["pixels"].at(i) - images.at(i)) /
               model.images.normalisation.deviation[static_cast<std::size_t>(i / 48 % 2)];
    }
    const double loss =
        session.run(model.program("evaluate"), {{"images", images}, {"mask", mask}})["loss"]
            .item<float>();
    BOOST_TEST(std::abs(loss - sum / 96) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(held_out_images_always_have_the_same_masks) {
  const MaskedImageModel model = fresh();
  const Tensor all = held_out_masks(model, {0, 1, 2, 3, 4, 5});
  const Tensor some = held_out_masks(model, {4, 1});
  for (std::int64_t p = 0; p < 12; ++p) {
    BOOST_TEST(some.data<std::int32_t>()[p] == all.data<std::int32_t>()[4 * 12 + p]);
    BOOST_TEST(some.data<std::int32_t>()[12 + p] == all.data<std::int32_t>()[12 + p]);
  }
  // Evaluating a subset of the images uses the same masks as evaluating the complete set. 300
  // images need two batches.
  Session session(*model.graph, model.store, {.seed = 1});
  const ImageSet set = stripes(300, 3);
  double sum = 0;
  for (std::int64_t i = 0; i < 300; i += 3) {
    const Tensor mask = held_out_masks(model, {i});
    sum += session
               .run(model.program("evaluate"),
                    {{"images", set.slice(i, i + 1).images}, {"mask", mask}})["loss"]
               .item<float>();
  }
  BOOST_TEST(std::abs(masked_image_loss(session, model, set, 100) - sum / 100) < 1e-4);
  BOOST_TEST(masked_image_loss(session, model, set) == masked_image_loss(session, model, set));
}

BOOST_AUTO_TEST_CASE(baselines_match_their_definitions) {
  const MaskedImageModel model = fresh();
  const ImageSet train = stripes(9, 5), set = stripes(3, 6);
  const MaskedImageBaselines found = masked_image_baselines(model, train, set);
  const Tensor mask = held_out_masks(model, {0, 1, 2});
  double mean_loss = 0, median_loss = 0;
  for (std::int64_t i = 0; i < 3 * 2; ++i) {  // for every image and channel
    const float* image = set.images.data<float>() + i * 48;
    const double deviation = model.images.normalisation.deviation[static_cast<std::size_t>(i % 2)];
    const auto hidden = [&](std::int64_t p) {
      return mask.data<std::int32_t>()[i / 2 * 12 + p / 8 / 2 * 4 + p % 8 / 2] != 0;
    };
    double sum = 0;
    for (std::int64_t p = 0; p < 48; ++p) sum += hidden(p) ? 0.0 : double{image[p]};
    for (std::int64_t p = 0; p < 48; ++p) {
      if (!hidden(p)) continue;
      std::vector<float> values;
      for (std::int64_t t = 0; t < 9; ++t)
        values.push_back(train.images.data<float>()[t * 96 + i % 2 * 48 + p]);
      std::sort(values.begin(), values.end());
      mean_loss += std::abs(image[p] - sum / 24) / deviation / (6 * 24);
      median_loss += std::abs(double{image[p]} - double{values[4]}) / deviation / (6 * 24);
    }
  }
  BOOST_TEST(std::abs(found.visible_mean - mean_loss) < 1e-4);
  BOOST_TEST(std::abs(found.training_median - median_loss) < 1e-4);
}

BOOST_AUTO_TEST_CASE(a_classifier_is_initialised_from_a_masked_image_model) {
  const TemporaryFolder files("masked_image");
  MaskedImageModel model = fresh();
  run(model, stripes(80, 1), files.path("m.weft"));
  const Pretrained base = load_pretrained(files.path("m.weft"));
  BOOST_TEST(base.classes.empty());
  BOOST_REQUIRE(base.normalisation.has_value());
  BOOST_TEST((base.normalisation->mean == model.images.normalisation.mean));
  const ImageClassifier classifier = trainable(build_image_classifier(
      base.config_of<VitConfig>(), {"across", "along"}, *base.normalisation, {}, settings()));
  const LoadReport report =
      load_weights(*classifier.store, *classifier.graph,
                   image_weights(base, base.config_of<VitConfig>()), "m.weft");
  using Names = std::vector<std::string>;
  BOOST_TEST(report.missing == (Names{"classifier.weight", "classifier.bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(report.unexpected == (Names{"mask_token", "pixels.bias", "pixels.weight"}),
             boost::test_tools::per_element());
  BOOST_TEST(bitwise_equal(classifier.store->tensor("layers.1.attention.query.weight"),
                           model.store->tensor("layers.1.attention.query.weight")));

  BOOST_CHECK_EXCEPTION(load_model<ImageClassifier>(files.path("m.weft")), FormatError,
                        message_contains({"holds no image classifier: the program "
                                          "'classify' is missing"}));
  Session session(*classifier.graph, classifier.store);
  session.initialise();
  save_model(files.path("c.weft"), classifier);
  BOOST_CHECK_EXCEPTION(load_model<MaskedImageModel>(files.path("c.weft")), FormatError,
                        message_contains({"holds no masked-image model: the program "
                                          "'reconstruct' is missing"}));
}

BOOST_AUTO_TEST_CASE(errors_state_which_arguments_do_not_match) {
  const ImageSet set = stripes(8, 1);
  const auto rejects = [&](const auto& change, const std::string& message) {
    VitConfig config = small();
    ImageNormalisation normalisation = normalisation_of(set);
    PatchMasking masking;
    change(config, normalisation, masking);
    BOOST_CHECK_EXCEPTION(
        trainable(build_masked_image_model(config, normalisation, {}, masking, settings())),
        ArgumentError, message_contains({message}));
  };
  rejects([](auto& c, auto&, auto&) { c.patch_width = 4; },
          "requires square patches, not patch_height 2 and patch_width 4");
  rejects([](auto&, auto&, auto& m) { m.mask_unit = 2; },
          "mask_unit must divide the 3 rows and 4 columns of patches, not 2");
  rejects([](auto&, auto&, auto& m) { m.mask_ratio = 0.99; }, "masks all");
  rejects([](auto&, auto& n, auto&) { n.mean.push_back(0); },
          "3 means and 2 deviations do not match images with 2 channels");

  const MaskedImageModel model = fresh();
  Session session(*model.graph, model.store, {.seed = 1});
  BOOST_CHECK_EXCEPTION(masked_image_loss(session, model, set.slice(0, 0)), DataError,
                        message_contains({"there are no images to evaluate on"}));
  BOOST_CHECK_EXCEPTION(masked_image_baselines(model, set.slice(0, 0), set), DataError,
                        message_contains({"there are no images to compute a median of"}));
  BOOST_CHECK_EXCEPTION(masked_image_task(session, model, set.slice(0, 0), set), DataError,
                        message_contains({"there are no images to train on"}));
  const ImageSet wide{Tensor::zeros(DType::f32, {1, 2, 6, 10}), {0}, {"a"}};
  BOOST_CHECK_EXCEPTION(masked_image_loss(session, model, wide), ShapeError,
                        message_contains({"requires images of size 2 x 6 x 8, not 2 x 6 x 10"}));
  BOOST_CHECK_EXCEPTION(
      reconstruction_svg(session, model, set.images, held_out_masks(model, {1}), "t"), ShapeError,
      message_contains({"images f32[count, 2, 6, 8] and masks i32[count, 12], not f32[8, 2, 6, 8] "
                        "and i32[1, 12]"}));
}

BOOST_AUTO_TEST_CASE(reconstruction_svg_shows_images_masks_and_reconstructions) {
  // SVG images need one or three channels.
  VitConfig config = small();
  config.channels = 1;
  const MaskedImageModel model =
      trainable(build_masked_image_model(config, {{0}, {1}}, {}, {.mask_ratio = 0.5}, settings()));
  Session session(*model.graph, model.store, {.seed = 1});
  const Tensor images = Tensor::full(DType::f32, {2, 1, 6, 8}, 0.5);
  const std::string svg =
      reconstruction_svg(session, model, images, held_out_masks(model, {0, 1}), "two images");
  const auto count = [&](const std::string& part) {
    int times = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1))
      ++times;
    return times;
  };
  BOOST_TEST(count(">two images<") == 1);
  BOOST_TEST(count(">image 2<") == 1);
  BOOST_TEST(count(">visible patches<") == 2);
  // There is one rectangle per pixel: 48 in the image, 24 in its visible part and 48 in the
  // reconstruction. One more rectangle is for the page, and six are for the panels.
  BOOST_TEST(count("<rect") == 2 * (48 + 24 + 48) + 1 + 6);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
