// Resizing, grey values and orientations of pictures, compared with the pixels of Pillow.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/data/images/image_folder.h"
#include "weft/models/data/images/image_geometry.h"
#include "weft/models/data/images/image_orientation.h"
#include "weft/models/data/images/image_transform.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/pillow_fixtures.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(pillow)
namespace {

using testing::message_contains;
using testing::pillow_fixture;
using testing::pillow_noise;
using testing::pixel_digits;
using testing::unhex;

BOOST_AUTO_TEST_CASE(resized_pictures_have_the_pixels_of_pillow_for_every_filter) {
  for (const auto& entry : pillow_fixture(WEFT_FIXTURES, "resized")) {
    const auto from = entry.at("from").get<Sizes>(), to = entry.at("to").get<Sizes>();
    const auto filter = parse_choice<Interpolation>(entry.at("filter").get<std::string>());
    const Tensor image = pillow_noise(from[0], from[1], entry.at("channels").get<std::int64_t>());
    const Tensor found = resize_image_8bit(image, to[0], to[1], filter);
    BOOST_TEST_CONTEXT(entry.dump()) {
      BOOST_TEST(pixel_digits(found) == entry.at("pixels").get<std::string>());
      BOOST_TEST((found.sizes() == Sizes{image.size(0), to[0], to[1]}));
    }
  }
  // A picture of the wanted size keeps its pixels.
  const Tensor image = pillow_noise(5, 7, 3);
  BOOST_TEST(bitwise_equal(resize_image_8bit(image, 5, 7, Interpolation::lanczos), image));
}

BOOST_AUTO_TEST_CASE(sizes_with_a_shortest_edge_are_rounded_as_in_transformers) {
  for (const auto& entry : pillow_fixture(WEFT_FIXTURES, "sizes")) {
    const auto from = entry.at("from").get<Sizes>(), to = entry.at("to").get<Sizes>();
    const ImageGeometry geometry{.shortest_edge = entry.at("edge").get<std::int64_t>(),
                                 .longest_edge = entry.at("longest").get<std::int64_t>(),
                                 .filter = Interpolation::nearest};
    const Tensor image = Tensor::zeros(DType::f32, {1, from[0], from[1]});
    BOOST_TEST_CONTEXT(entry.dump())
    BOOST_CHECK_NO_THROW(preprocess_image(image, {1, to[0], to[1]}, geometry, "p"));
    BOOST_CHECK_EXCEPTION(
        preprocess_image(image, {1, to[0] + 1, to[1]}, geometry, "p.png"), DataError,
        message_contains({"p.png: preprocessing converts " + std::to_string(from[0]) + " x " +
                              std::to_string(from[1]) + " pixels to " + std::to_string(to[0]) +
                              " x " + std::to_string(to[1]),
                          "the model requires " + std::to_string(to[0] + 1)}));
  }
}

BOOST_AUTO_TEST_CASE(impossible_picture_sizes_are_rejected) {
  const auto rejects = [](const ImageGeometry& wrong, const std::string& message) {
    BOOST_CHECK_EXCEPTION(wrong.check(), ArgumentError, message_contains({message}));
  };
  rejects({.height = -1, .width = 1}, "height must be from 0 to 65535 pixels, not -1");
  rejects({.shortest_edge = 65536}, "shortest_edge must be from 0 to 65535");
  rejects({.height = 1}, "height and width require each other");
  rejects({.height = 1, .width = 1, .shortest_edge = 1}, "height excludes shortest_edge");
  rejects({.longest_edge = 1}, "longest_edge requires shortest_edge");
  rejects({.crop_width = 1}, "crop_height and crop_width require each other");
  const Tensor narrow = Tensor::zeros(DType::f32, {1, 1, 40000});
  BOOST_CHECK_EXCEPTION(
      preprocess_image(narrow, {1, 8, 8}, ImageGeometry{.shortest_edge = 2000}, "n.png"), DataError,
      message_contains({"n.png: resizing 1 x 40000 pixels to 2000 x 80000000 pixels"}));
  // The longer edge is limited to 3 pixels, which leaves none for the other.
  BOOST_CHECK_EXCEPTION(
      preprocess_image(narrow, {1, 8, 8}, ImageGeometry{.shortest_edge = 2, .longest_edge = 3},
                       "n.png"),
      DataError, message_contains({"to 0 x 2 pixels is not possible"}));
}

BOOST_AUTO_TEST_CASE(image_geometries_round_trip_and_scale_with_the_image_size) {
  const ImageGeometry geometry{.shortest_edge = 256,
                               .longest_edge = 700,
                               .filter = Interpolation::hamming,
                               .crop_height = 224,
                               .crop_width = 224,
                               .flip_channels = true};
  BOOST_TEST(
      (ImageGeometry::fields().from_json(ImageGeometry::fields().to_json(geometry)) == geometry));
  const ImageGeometry half = geometry.scaled({3, 224, 224}, {3, 112, 112});
  BOOST_TEST(half.shortest_edge == 128);
  BOOST_TEST(half.longest_edge == 350);
  BOOST_TEST(half.crop_height == 112);
  BOOST_TEST((geometry.scaled({3, 224, 224}, {1, 224, 224}) == geometry));
  BOOST_TEST((ImageGeometry{.height = 8, .width = 8}.scaled({1, 8, 8}, {1, 4, 6}) ==
              ImageGeometry{.height = 4, .width = 6}));
  // Pictures for square models keep their aspect ratio.
  BOOST_TEST((default_geometry({3, 8, 8}) ==
              ImageGeometry{.shortest_edge = 8, .crop_height = 8, .crop_width = 8}));
  BOOST_TEST((default_geometry({3, 8, 9}) == ImageGeometry{.height = 8, .width = 9}));
}

BOOST_AUTO_TEST_CASE(colours_are_converted_to_the_grey_values_of_pillow) {
  const auto grey = pillow_fixture(WEFT_FIXTURES, "grey");
  const Tensor found = decode_image(unhex(grey.at("png").get<std::string>()), 1, "grey.png");
  BOOST_TEST(pixel_digits(found) == grey.at("pixels").get<std::string>());
}

BOOST_AUTO_TEST_CASE(png_files_are_turned_upright_as_by_pillow) {
  for (const auto& entry : pillow_fixture(WEFT_FIXTURES, "orientations")) {
    const Tensor found = decode_image(unhex(entry.at("png").get<std::string>()), 1, "o.png");
    BOOST_TEST_CONTEXT(entry.dump()) {
      const auto size = entry.at("size").get<Sizes>();
      BOOST_TEST((found.sizes() == Sizes{1, size[0], size[1]}));
      BOOST_TEST(pixel_digits(found) == entry.at("pixels").get<std::string>());
    }
  }
}

/// Returns EXIF data with one tag in the byte order of `order`, "II" or "MM".
std::string exif_data(const std::string& order, int orientation, int type = 3, int tag = 0x0112) {
  const auto number = [&](int value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) {
      const int shift = 8 * (order == "MM" ? size - 1 - i : i);
      bytes += static_cast<char>(value >> shift & 0xFF);
    }
    return bytes;
  };
  const int size = type == 3 || type == 8 ? 2 : type == 4 || type == 9 ? 4 : 1;
  return order + number(42, 2) + number(8, 4) + number(1, 2) + number(tag, 2) + number(type, 2) +
         number(1, 4) + number(orientation, size) +
         std::string(static_cast<std::size_t>(4 - size), '\0') + number(0, 4);
}

/// Returns grey_jpeg() with an Exif segment after another application segment.
std::string jpeg_with_exif(const std::string& exif) {
  std::string file = testing::grey_jpeg();
  const std::string body = std::string("Exif\0\0", 6) + exif;
  const auto length = static_cast<int>(body.size()) + 2;
  const std::string segment = std::string("\xff\xff\xe1") + static_cast<char>(length >> 8) +
                              static_cast<char>(length & 0xFF) + body;
  return file.insert(20, segment);  // the first segment has 18 bytes
}

BOOST_AUTO_TEST_CASE(jpeg_files_are_turned_upright_in_both_byte_orders) {
  const Tensor stored = decode_image(testing::grey_jpeg(), 1, "stored.jpg");
  for (const char* order : {"II", "MM"}) {
    for (int orientation = 0; orientation <= 9; ++orientation) {
      for (const int type : {3, 4, 8, 9}) {
        const std::string file = jpeg_with_exif(exif_data(order, orientation, type));
        BOOST_TEST(exif_orientation(file) ==
                   (orientation >= 1 && orientation <= 8 ? orientation : 1));
        BOOST_TEST(bitwise_equal(decode_image(file, 1, "e.jpg"), oriented(stored, orientation)));
      }
    }
  }
  BOOST_TEST(!bitwise_equal(oriented(stored, 6), stored));
  BOOST_TEST(exif_orientation(jpeg_with_exif(exif_data("II", 6, 3, 0x0111))) == 1);
  // PIL ignores values of other types.
  BOOST_TEST(exif_orientation(jpeg_with_exif(exif_data("II", 6, 1))) == 1);
  BOOST_TEST(exif_orientation(jpeg_with_exif(exif_data("II", 6, 5))) == 1);
}

BOOST_AUTO_TEST_CASE(image_folders_are_read_upright) {
  const testing::TemporaryFolder folder("exif");
  folder.write("turned/a/1.jpg", jpeg_with_exif(exif_data("MM", 6)));
  folder.write("stored/a/1.jpg", testing::grey_jpeg());
  const ImageSize size{1, 8, 8};
  const Tensor stored = read_image_folder(folder.path("stored"), size).image(0);
  BOOST_TEST(
      bitwise_equal(read_image_folder(folder.path("turned"), size).image(0), oriented(stored, 6)));
}

BOOST_AUTO_TEST_CASE(damaged_exif_data_leave_pictures_as_they_are_stored) {
  const std::string good = exif_data("II", 6);
  for (const std::string& exif :
       {std::string(), std::string("II"), std::string("XX") + good.substr(2),
        good.substr(0, 2) + "\x2b" + good.substr(3),                           // not 42
        good.substr(0, 4) + std::string("\xff\xff\xff\xff") + good.substr(8),  // directory outside
        good.substr(0, 8) + std::string("\xff\xff")}) {                        // entries outside
    BOOST_TEST(exif_orientation(jpeg_with_exif(exif)) == 1);
    BOOST_CHECK_NO_THROW(decode_image(jpeg_with_exif(exif), 1, "e.jpg"));
  }
  // More entries are declared than present; the first one is valid.
  std::string many = good;
  many[8] = many[9] = '\xff';
  BOOST_TEST(exif_orientation(jpeg_with_exif(many)) == 6);
  // Any bytes are accepted, also truncated and random ones.
  std::string png =
      unhex(pillow_fixture(WEFT_FIXTURES, "orientations").at(6).at("png").get<std::string>());
  const RandomStream random{7};
  std::uint64_t next = 0;
  for (const std::string& whole : {jpeg_with_exif(good), png}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      std::string part = whole.substr(0, size);
      BOOST_TEST((exif_orientation(part) == 1 || exif_orientation(part) == 6));
      for (int i = 0; i < 20 && size > 2; ++i) {
        std::string changed = whole;
        for (int k = 0; k < 4; ++k) {
          changed[random.word(next) % changed.size()] = static_cast<char>(random.word(next + 1));
          next += 2;
        }
        const int found = exif_orientation(changed);
        BOOST_REQUIRE((found >= 1 && found <= 8));
      }
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
