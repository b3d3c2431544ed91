// Image transforms, compared with PIL and with values computed by hand; augmentation and batching.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/images/image_augment.h"
#include "weft/models/data/images/image_set.h"
#include "weft/models/data/images/image_transform.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_transform)
namespace {

using testing::message_contains;

/// Returns an image in which pixel (y, x) is (x^2 + 3xy + 5y) mod 11, plus 20 times the channel
/// index.
Tensor pattern(std::int64_t rows = 5, std::int64_t columns = 7, std::int64_t channels = 1) {
  Tensor image = Tensor::empty(DType::f32, {channels, rows, columns});
  for (std::int64_t i = 0; i < image.numel(); ++i) {
    const std::int64_t x = i % columns, y = i / columns % rows;
    image.mutable_data<float>()[i] =
        static_cast<float>((x * x + 3 * y * x + 5 * y) % 11 + 20 * (i / (rows * columns)));
  }
  return image;
}

void check_values(const Tensor& found, const Sizes& sizes, const std::vector<double>& expected,
                  double tolerance = 1e-6) {
  BOOST_TEST((found.sizes() == sizes));
  BOOST_REQUIRE(found.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < found.numel(); ++i)
    BOOST_TEST(std::abs(found.at(i) - expected[static_cast<std::size_t>(i)]) <= tolerance);
}

// The expected values were computed with PIL 9.4 for an image in mode F, which does not round, and
// are given to five decimals.
BOOST_AUTO_TEST_CASE(resized_images_match_pil) {
  const Tensor image = pattern();
  check_values(resize_image(image, 3, 4), {1, 3, 4},
               {3.21088, 4.52571, 3.47429, 2.85034, 6.71958, 4.4, 4.48, 6.02645, 4.33333, 4.77714,
                6.11429, 6.59184},
               2e-5);
  check_values(resize_image(image, 2, 10), {1, 2, 10},  // reduced in height, enlarged in width
               {4.5, 5.05, 5.125, 4.075, 4.325, 3.975, 3.05,  3.75,  4.0,   4.0,
                7.0, 4.8,  3.25,  3.95,  5.95,  5.95,  4.175, 6.625, 6.825, 6.0},
               2e-5);
  check_values(resize_image(image, 3, 4, Interpolation::bicubic), {1, 3, 4},
               {3.13264, 4.71332, 3.44852, 2.61634, 7.1606, 4.1551, 4.14222, 6.245, 4.05641,
                4.77154, 6.45717, 6.68345},
               2e-5);
  check_values(
      resize_image(image, 2, 10, Interpolation::bicubic), {1, 2, 10},
      {4.2283,  5.10603, 5.36687, 4.03892, 4.30551, 3.93649, 2.97662, 3.68067, 3.93693, 3.85437,
       7.59346, 4.90605, 2.75243, 3.89407, 6.37299, 6.23485, 4.16383, 7.04604, 7.22507, 6.04669},
      2e-5);
  const Tensor larger = resize_image(image, 8, 9, Interpolation::bicubic);
  for (const auto& [at, value] :
       {std::pair{0, -0.3969}, {4, 9.57565}, {28, 8.16753}, {71, 7.12951}})
    BOOST_TEST(std::abs(larger.at(at) - value) < 2e-5);
  BOOST_TEST(bitwise_equal(resize_image(image, 5, 7), image));
  // Channels are resized independently.
  const Tensor two = resize_image(pattern(5, 7, 2), 3, 4);
  BOOST_TEST(std::abs(two.at(12) - 23.21088) < 2e-5);
}

BOOST_AUTO_TEST_CASE(images_are_cropped_flipped_and_converted) {
  const Tensor image = Tensor::of<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  check_values(crop_image(image, -1, 1, 3, 3, 9), {1, 3, 3}, {9, 9, 9, 2, 3, 9, 5, 6, 9});
  check_values(crop_image(image, 5, 5, 1, 1, 9), {1, 1, 1}, {9});
  check_values(flip_horizontal(image), {1, 2, 3}, {3, 2, 1, 6, 5, 4});
  // The left margin is half the difference between the widths. 1/2 and 3/2 are rounded to even, to
  // 0 and 2.
  const Tensor row = Tensor::of<float>({1, 1, 5}, {0, 1, 2, 3, 4});
  check_values(center_crop(row, 1, 3), {1, 1, 3}, {1, 2, 3});
  check_values(center_crop(row, 1, 4), {1, 1, 4}, {0, 1, 2, 3});
  check_values(center_crop(row, 1, 2), {1, 1, 2}, {2, 3});
  check_values(center_crop(row, 1, 7), {1, 1, 7}, {0, 0, 1, 2, 3, 4, 0});
  check_values(to_channels(image, 3), {3, 2, 3},
               {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  check_values(to_channels(Tensor::of<float>({3, 1, 1}, {1, 2, 3}), 1), {1, 1, 1},
               {0.299 + 2 * 0.587 + 3 * 0.114});
  // To cover 4 x 4 pixels, the 2 x 4 image is enlarged to 4 x 8 and cropped to its centre.
  const Tensor wide = Tensor::of<float>({1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1});
  const Tensor fitted = fit_image(wide, 1, 4, 4);
  check_values(fitted, {1, 4, 4},
               {0, 0.25, 0.75, 1, 0, 0.25, 0.75, 1, 0, 0.25, 0.75, 1, 0, 0.25, 0.75, 1});
}

BOOST_AUTO_TEST_CASE(images_are_rotated_scaled_and_shifted) {
  const Tensor image = pattern(5, 5);
  BOOST_TEST(bitwise_equal(transform_image(image, {}), image));
  // A shift by whole pixels equals a crop with a black border.
  BOOST_TEST(bitwise_equal(transform_image(image, {.down = 2, .right = -1}),
                           crop_image(image, -2, 1, 5, 5)));
  // A quarter turn counter-clockwise moves the right column to the top row.
  const Tensor turned = transform_image(image, {.degrees = 90});
  for (std::int64_t y = 0; y < 5; ++y) {
    for (std::int64_t x = 0; x < 5; ++x)
      BOOST_TEST(std::abs(turned.at(y * 5 + x) - image.at(x * 5 + 4 - y)) < 1e-5);
  }
  // At scale 2, pixel 1 of 5 is the mean of the original pixels 1 and 2.
  const Tensor larger = transform_image(image, {.scale = 2});
  BOOST_TEST(std::abs(larger.at(2 * 5 + 2) - image.at(2 * 5 + 2)) < 1e-6);
  BOOST_TEST(std::abs(larger.at(2 * 5 + 1) - (image.at(11) + image.at(12)) / 2) < 1e-6);
}

BOOST_AUTO_TEST_CASE(non_image_tensors_are_rejected) {
  const Tensor flat = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto no_image =
      message_contains({"an image must be f32[channels, height, width], not f32[2, 2]"});
  BOOST_CHECK_EXCEPTION(resize_image(flat, 1, 1), ShapeError, no_image);
  BOOST_CHECK_EXCEPTION(crop_image(flat, 0, 0, 1, 1), ShapeError, no_image);
  BOOST_CHECK_EXCEPTION(flip_horizontal(flat), ShapeError, no_image);
  BOOST_CHECK_EXCEPTION(transform_image(flat, {}), ShapeError, no_image);
  BOOST_CHECK_EXCEPTION(resize_image(pattern(), 0, 4), ArgumentError,
                        message_contains({"at least 1 x 1 pixels, not 0 x 4"}));
  BOOST_CHECK_EXCEPTION(transform_image(pattern(), {.scale = 0}), ArgumentError,
                        message_contains({"the scale must be positive, not 0"}));
  BOOST_CHECK_EXCEPTION(to_channels(pattern(2, 2, 2), 1), ShapeError,
                        message_contains({"cannot convert 2 channels to 1"}));
}

BOOST_AUTO_TEST_CASE(augmentation_is_a_function_of_seed_step_and_index) {
  const Tensor image = pattern(9, 9);
  const ImageAugmentation augmentation{
      .padding = 1, .shift = 0.5, .rotation = 10, .zoom = 0.1, .min_area = 0.6, .flip = true};
  const auto same = [&](std::uint64_t seed, std::int64_t step, std::int64_t index) {
    return bitwise_equal(augment(image, augmentation, 1, 2, 3),
                         augment(image, augmentation, seed, step, index));
  };
  BOOST_TEST(same(1, 2, 3));
  BOOST_TEST(!same(2, 2, 3));
  BOOST_TEST(!same(1, 3, 3));
  BOOST_TEST(!same(1, 2, 4));
  BOOST_TEST(bitwise_equal(augment(image, {}, 1, 2, 3), image));
  // All nine crops of the padded image occur about equally often.
  std::vector<int> seen(9, 0);
  for (std::int64_t i = 0; i < 900; ++i) {
    const Tensor moved = augment(image, {.padding = 1}, 5, 0, i);
    for (std::int64_t k = 0; k < 9; ++k)
      seen[static_cast<std::size_t>(k)] +=
          bitwise_equal(moved, crop_image(image, k / 3 - 1, k % 3 - 1, 9, 9)) ? 1 : 0;
  }
  BOOST_TEST(std::accumulate(seen.begin(), seen.end(), 0) == 900);
  for (const int count : seen) BOOST_TEST((count > 60 && count < 140));
  // Half of the images are flipped.
  int flipped = 0;
  for (std::int64_t i = 0; i < 400; ++i)
    flipped += bitwise_equal(augment(image, {.flip = true}, 5, 0, i), image) ? 0 : 1;
  BOOST_TEST((flipped > 150 && flipped < 250));
  // Random crops keep the size and the value range of the image, because they are resized.
  for (std::int64_t i = 0; i < 50; ++i) {
    const Tensor part = augment(image, {.min_area = 0.3}, 5, 0, i);
    BOOST_TEST((part.sizes() == image.sizes()));
    for (std::int64_t k = 0; k < part.numel(); ++k)
      BOOST_TEST((part.at(k) > -1e-5 && part.at(k) < 10 + 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(augmentations_round_trip_and_invalid_augmentations_are_rejected) {
  const ImageAugmentation augmentation{
      .shift = 2, .rotation = 10, .zoom = 0.1, .min_area = 0.5, .flip = true};
  BOOST_TEST((ImageAugmentation::fields().from_json(
                  ImageAugmentation::fields().to_json(augmentation)) == augmentation));
  const auto rejects = [](const ImageAugmentation& wrong, const std::string& message) {
    BOOST_CHECK_EXCEPTION(wrong.check(), ArgumentError, message_contains({message}));
  };
  rejects({.padding = -1}, "padding must be from 0 to 1048576 pixels, not -1");
  rejects({.shift = -0.5}, "shift must be from 0 to 1048576 pixels, not -0.5");
  rejects({.rotation = 181}, "rotation must be from 0 to 180 degrees, not 181");
  rejects({.zoom = 1}, "zoom must be in [0, 1), not 1");
  rejects({.min_area = 0}, "min_area must be in (0, 1], not 0");
  BOOST_CHECK_EXCEPTION(ImageAugmentation::fields().from_json("{}"), FormatError,
                        message_contains({"the image augmentation lacks 'padding'"}));
}

/// Returns `count` single-pixel images. The pixel of image i is i, and its class is i mod
/// `classes`.
ImageSet numbered(std::int64_t count, std::int64_t classes) {
  ImageSet set{Tensor::empty(DType::f32, {count, 1, 1, 1})};
  for (std::int64_t i = 0; i < count; ++i) {
    set.images.mutable_data<float>()[i] = static_cast<float>(i);
    set.labels.push_back(static_cast<std::int32_t>(i % classes));
  }
  for (std::int64_t c = 0; c < classes; ++c) set.classes.push_back(std::to_string(c));
  return set;
}

BOOST_AUTO_TEST_CASE(every_image_is_used_once_per_epoch) {
  const ImageSet set = numbered(10, 3);
  ImageBatches batches(set, 4, {}, 7);
  std::vector<double> first, second;
  for (std::int64_t step = 0; step < 5; ++step) {
    const ImageSet batch = batches(step);
    BOOST_TEST(batch.count() == 4);
    for (std::int64_t i = 0; i < 4; ++i) {
      auto& epoch = step * 4 + i < 10 ? first : second;
      epoch.push_back(batch.images.at(i));
      BOOST_TEST(batch.labels[static_cast<std::size_t>(i)] ==
                 static_cast<std::int32_t>(epoch.back()) % 3);
    }
  }
  BOOST_TEST((first != second));
  for (auto* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    for (std::size_t i = 0; i < 10; ++i) BOOST_TEST(epoch->at(i) == static_cast<double>(i));
  }
  // Steps can be requested in any order, as in a resumed run.
  ImageBatches fresh(set, 4, {}, 7);
  BOOST_TEST(bitwise_equal(fresh(3).images, batches(3).images));
  ImageBatches other(set, 4, {}, 8);
  BOOST_TEST(!bitwise_equal(other(0).images, batches(0).images));
  BOOST_CHECK_EXCEPTION(ImageBatches(set, 0, {}, 1), ArgumentError,
                        message_contains({"at least 1 image, not 0"}));
  BOOST_CHECK_EXCEPTION(ImageBatches(set.slice(0, 0), 1, {}, 1), ArgumentError,
                        message_contains({"there are no images to train on"}));
}

BOOST_AUTO_TEST_CASE(image_sets_are_split_within_each_class) {
  const ImageSet set = numbered(30, 3);
  const auto [kept, taken] = split(set, 0.2, 5);
  BOOST_TEST(kept.count() == 24);
  BOOST_TEST(taken.count() == 6);
  for (std::int32_t c = 0; c < 3; ++c)
    BOOST_TEST(std::count(taken.labels.begin(), taken.labels.end(), c) == 2);
  std::vector<double> all = kept.images.to(DType::f64).to_vector<double>();
  for (std::int64_t i = 0; i < 6; ++i) all.push_back(taken.images.at(i));
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < 30; ++i) BOOST_TEST(all[i] == static_cast<double>(i));
  BOOST_TEST(bitwise_equal(split(set, 0.2, 5).second.images, taken.images));
  BOOST_TEST(!bitwise_equal(split(set, 0.2, 6).second.images, taken.images));
  BOOST_TEST(split(set, 0.99, 5).first.count() == 3);  // at least one image of every class remains
  BOOST_TEST(split(set, 0, 5).second.count() == 0);
  BOOST_CHECK_EXCEPTION(split(set, 1, 5), ArgumentError,
                        message_contains({"the fraction to split off must be in [0, 1), not 1"}));
  BOOST_CHECK_EXCEPTION(set.slice(20, 31), ArgumentError,
                        message_contains({"images [20, 31) are out of range for a set of 30"}));
  BOOST_CHECK_EXCEPTION(set.pick({30}), ArgumentError,
                        message_contains({"image 30 is out of range for a set of 30"}));
  const ChannelStatistics found = channel_statistics(set);
  BOOST_TEST(std::abs(found.mean.at(0) - 14.5) < 1e-9);
  BOOST_TEST(std::abs(found.deviation.at(0) - std::sqrt((30.0 * 30 - 1) / 12)) < 1e-9);
  BOOST_CHECK_EXCEPTION(channel_statistics(set.slice(0, 0)), ArgumentError,
                        message_contains({"an empty image set has no mean"}));
  BOOST_TEST((shuffled(5, 1, 0) == shuffled(5, 1, 0)));
  BOOST_TEST((shuffled(50, 1, 0) != shuffled(50, 1, 1)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
