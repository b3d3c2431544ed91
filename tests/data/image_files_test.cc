// Reading images from IDX, gzip, CSV, PNG, JPEG and BMP files and from folders.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/data/images/image_csv.h"
#include "weft/models/data/images/image_folder.h"
#include "weft/models/data/images/image_idx.h"
#include "weft/models/text/compression/gzip.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/image_files.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_file_formats)
namespace {

using testing::message_contains;
using testing::TemporaryFolder;
using testing::unhex;

void check_values(const Tensor& found, const Sizes& sizes, const std::vector<double>& expected,
                  double tolerance = 1e-7) {
  BOOST_TEST((found.sizes() == sizes));
  BOOST_REQUIRE(found.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < found.numel(); ++i)
    BOOST_TEST(std::abs(found.at(i) - expected[static_cast<std::size_t>(i)]) <= tolerance);
}

/// Checks that `call` throws FormatError with all `parts` in its message.
template <class Call>
void rejects(Call&& call, std::vector<std::string> parts) {
  BOOST_CHECK_EXCEPTION(call(), FormatError, message_contains(std::move(parts)));
}

const std::string kHello = unhex("1f8b0800000000000203cb48cdc9c957c84090008088f9e511000000");

BOOST_AUTO_TEST_CASE(gzip_members_are_unpacked) {
  BOOST_TEST(is_gzip(kHello));
  BOOST_TEST(!is_gzip("hello"));
  BOOST_TEST(gunzip(kHello, "x.gz") == "hello hello hello");
  BOOST_TEST(gunzip(kHello + kHello, "x.gz") == "hello hello hellohello hello hello");
}

BOOST_AUTO_TEST_CASE(errors_for_damaged_gzip_files_state_the_byte_offset) {
  rejects([] { gunzip(kHello.substr(0, 20), "x.gz"); },
          {"x.gz: unexpected end of file at byte 20 of the gzip file"});
  rejects([] { gunzip("", "x.gz"); }, {"unexpected end of file at byte 0"});
  std::string wrong = kHello;
  wrong[21] ^= 1;  // damages the checksum
  rejects([&] { gunzip(wrong, "x.gz"); }, {"x.gz: incorrect data check at byte 24"});
  rejects([&] { gunzip(kHello + "rest", "x.gz"); }, {"incorrect header check at byte 30"});
  rejects([] { gunzip(kHello, "x.gz", 16); }, {"more than 16 bytes when decompressed"});
}

BOOST_AUTO_TEST_CASE(idx_files_of_every_type_are_read) {
  check_values(parse_idx(unhex("00000802"
                               "00000002"
                               "00000003"
                               "000102fdfeff"),
                         "m"),
               {2, 3}, {0, 1, 2, 253, 254, 255});
  check_values(parse_idx(unhex("00000901"
                               "00000002"
                               "80ff"),
                         "m"),
               {2}, {-128, -1});
  check_values(parse_idx(unhex("00000c01"
                               "00000002"
                               "00000102fffffffe"),
                         "m"),
               {2}, {258, -2});
  check_values(parse_idx(unhex("00000d01"
                               "00000001"
                               "3fc00000"),
                         "m"),
               {1}, {1.5});
  check_values(parse_idx(unhex("00000e00"
                               "bff8000000000000"),
                         "m"),
               {}, {-1.5});
  BOOST_TEST(parse_idx(unhex("0000080100000000"), "m").numel() == 0);
}

BOOST_AUTO_TEST_CASE(errors_for_inconsistent_idx_files_state_the_byte_offset) {
  rejects([] { parse_idx("", "m"); }, {"m: ends at byte 0, inside the header"});
  rejects([] { parse_idx(unhex("0000080200000002"), "m"); },
          {"m: ends at byte 8, inside the sizes of its axes"});
  rejects([] { parse_idx(unhex("1f8b0802"), "m"); }, {"it begins with 1f 8b, not 00 00"});
  rejects([] { parse_idx(unhex("00000b0100000000"), "m"); },
          {"element type 0x0b at byte 2 (16-bit integers)", "0x08 (u8)"});
  rejects([] { parse_idx(unhex("000008010000000401"), "m"); },
          {"sizes at byte 4 require 4 bytes of elements, but there are 1 up to the end at byte 9"});
  rejects([] { parse_idx(unhex("00000801000000010102"), "m"); }, {"require 1 bytes", "are 2"});
  // The product of the sizes exceeds 64 bits, and the file has no elements. The reader must not
  // allocate memory for them.
  rejects(
      [] { parse_idx(unhex("00000804fffffffffffffffffffffffffffffff0"), "m"); },
      {"m: sizes at byte 4: u8[4294967295, 4294967295, 4294967295, 4294967280]: size overflows"});
  rejects([] { parse_idx(unhex("000008030000000032ffff001cffffec"), "m"); },
          {"size overflows the address space (axes of size 0 ignored)"});
  rejects([] { parse_idx(unhex("000008030000ffff0000ffff00000001"), "m"); },
          {"are 0 up to the end at byte 16"});
  BOOST_CHECK_THROW(read_idx("/nowhere/idx"), IoError);
}

BOOST_AUTO_TEST_CASE(images_are_read_from_csv_tables) {
  const ImageSet set = parse_image_csv("0,16,8,4,1\n\n 4 , 0,0,16,0\r\n1,2,3,4,3", "d.csv");
  check_values(set.images, {3, 1, 2, 2},
               {0, 1, 0.5, 0.25, 0.25, 0, 0, 1, 0.0625, 0.125, 0.1875, 0.25});
  BOOST_TEST((set.labels == std::vector<std::int32_t>{1, 0, 3}));
  BOOST_TEST((set.classes == std::vector<std::string>{"0", "1", "2", "3"}));
  const ImageSet first = parse_image_csv(
      "5,255,0", "d.csv", {.height = 1, .width = 2, .highest = 255, .label_first = true});
  check_values(first.images, {1, 1, 1, 2}, {1, 0});
  BOOST_TEST(first.labels.at(0) == 5);
}

BOOST_AUTO_TEST_CASE(errors_for_invalid_image_tables_state_line_and_byte) {
  const auto parse = [](const std::string& text) {
    return [text] { parse_image_csv(text, "d.csv"); };
  };
  rejects(parse(""), {"d.csv: there are no images (byte 0)"});
  rejects(parse("0,1,2,3,1\n0,1,x,3,1"), {"d.csv: expected an integer, line 2 (byte 14)"});
  rejects(parse("0,1,2,3,1\n0,1,2,1"),
          {"4 numbers, but 2 x 2 pixels and a class are 5 numbers, line 2 (byte"});
  rejects(parse("0,1,2,1"),
          {"3 pixels (followed or preceded by a class) do not form a square image, line 1"});
  rejects(parse("7"), {"0 pixels (followed or preceded by a class) do not form a square image"});
  rejects(parse("0,1,2,17,1"), {"pixel 17 is not in [0, 16], line 1"});
  rejects(parse("0,1,2,3,-1"), {"class -1 is not in [0, 100000)"});
  rejects(parse("0,1,2,3,9223372036854775807"), {"class 9223372036854775807"});
  rejects(parse("0,1,2,3,92233720368547758070"), {"expected an integer, line 1 (byte 8)"});
  rejects(parse("0,1,2,3;1"), {"expected a comma or the end of the line, line 1 (byte 7)"});
  rejects(parse("0,1,2,3,\n"), {"expected a number after the last comma, line 1 (byte 8)"});
  BOOST_CHECK_THROW(parse_image_csv("1", "d", {.highest = 0}), ArgumentError);
}

BOOST_AUTO_TEST_CASE(png_bmp_and_jpeg_are_decoded) {
  check_values(decode_image(testing::grey_png(), 1, "a.png"), {1, 2, 3},
               {0, 0.2, 0.4, 0.6, 0.8, 1});
  const std::vector<double> colours = {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1};
  check_values(decode_image(testing::colour_png(), 3, "a.png"), {3, 2, 2}, colours);
  check_values(decode_image(testing::colour_bmp(), 3, "a.bmp"), {3, 2, 2}, colours);
  // Expected values: the luma of red, green and blue, rounded to 8 bits.
  check_values(decode_image(testing::colour_png(), 1, "a.png"), {1, 2, 2}, {0.299, 0.587, 0.114, 1},
               0.01);
  const Tensor repeated = decode_image(testing::grey_png(), 3, "a.png");
  BOOST_TEST((repeated.sizes() == Sizes{3, 2, 3}));
  BOOST_TEST(repeated.at(13) == repeated.at(1));
  const Tensor jpeg = decode_image(testing::grey_jpeg(), 1, "a.jpg");
  BOOST_TEST((jpeg.sizes() == Sizes{1, 8, 8}));
  BOOST_TEST(std::abs(jpeg.at(0) - 128 / 255.0) < 0.005);
  BOOST_TEST(std::abs(jpeg.at(7) - 200 / 255.0) < 0.005);
  BOOST_CHECK_EXCEPTION(decode_image(testing::grey_png(), 4, "a"), ArgumentError,
                        message_contains({"1 channel (grey) or 3 (red, green, blue), not 4"}));
}

// JPEG decoders fill the missing part of a truncated file with grey, so the file is validated
// first.
BOOST_AUTO_TEST_CASE(errors_for_truncated_and_damaged_image_files_state_the_byte_offset) {
  for (const std::string& whole :
       {testing::grey_png(), testing::colour_bmp(), testing::grey_jpeg()}) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      BOOST_CHECK_THROW(decode_image(whole.substr(0, size), 1, "cut"), FormatError);
  }
  const std::string jpeg = testing::grey_jpeg();
  rejects([&] { decode_image(jpeg.substr(0, jpeg.size() - 2), 1, "a.jpg"); },
          {"a.jpg: the file is truncated: it ends at byte 343"});
  // With this table, the decoder would write beyond the end of a buffer.
  std::string crowded = jpeg;
  const std::size_t table = crowded.find("\xff\xc4");
  crowded[table + 5] = crowded[table + 6] = static_cast<char>(0xFF);
  rejects([&] { decode_image(crowded, 1, "a.jpg"); },
          {"a.jpg: a Huffman table has more than 256 codes at byte"});
  std::string png = testing::grey_png();
  png[17] ^= 1;  // a byte of the header chunk, which begins at byte 8
  rejects([&] { decode_image(png, 1, "a.png"); },
          {"a.png: the checksum does not match for the chunk 'IHDR', which begins at byte 8"});
  rejects([] { decode_image("GIF89a", 1, "a.gif"); },
          {"a.gif: not a PNG, JPEG or BMP file at byte 0"});
  std::string bmp = testing::colour_bmp();
  bmp[30] = 1;
  rejects([&] { decode_image(bmp, 3, "a.bmp"); }, {"compression 1 is not supported", "at byte 30"});
  bmp = testing::colour_bmp();
  bmp[20] = 1;  // a width of 65538 pixels
  rejects([&] { decode_image(bmp, 3, "a.bmp"); }, {"a.bmp: the file is truncated"});
}

BOOST_AUTO_TEST_CASE(images_are_read_from_one_folder_per_class) {
  const TemporaryFolder folder("folders");
  const ImageSize size{1, 2, 2};
  folder.write("all/dog/b.PNG", testing::grey_png());
  folder.write("all/cat/z.bmp", testing::colour_bmp());
  folder.write("all/cat/a.jpg", testing::grey_jpeg());
  folder.write("all/cat/notes.txt", "not an image");
  folder.write("all/readme.txt", "not a class");
  const ImageSet set = read_image_folder(folder.path("all"), size);
  BOOST_TEST((set.classes == std::vector<std::string>{"cat", "dog"}));
  BOOST_TEST((set.labels == std::vector<std::int32_t>{0, 0, 1}));
  BOOST_TEST((set.size() == size));
  // Pixels 0 and 3 are in the left and right halves of the JPEG. A seventh of their value comes
  // from the other half, because the resize filter is a triangle with half-width 4.
  BOOST_TEST(std::abs(set.image(0).at(0) - (128 + 72 / 7.0) / 255) < 0.005);
  BOOST_TEST(std::abs(set.image(0).at(3) - (200 - 72 / 7.0) / 255) < 0.005);
  std::filesystem::create_directories(folder.path("all/empty"));
  rejects([&] { read_image_folder(folder.path("all"), size); },
          {"all/empty has no .png, .jpg, .jpeg or .bmp file"});
  rejects([&] { read_image_folder(folder.path("all/dog"), size); }, {"dog has no class folders"});
  BOOST_CHECK_THROW(read_image_folder("/nowhere", size), IoError);
  folder.write("bad/x/cut.png", testing::grey_png().substr(0, 40));
  rejects([&] { read_image_folder(folder.path("bad"), size); }, {"cut.png: the file is truncated"});
}

BOOST_AUTO_TEST_CASE(images_are_found_once_if_links_between_folders_form_a_cycle) {
  const TemporaryFolder folder("linked");
  const std::vector<std::string> written = {folder.write("a/1.png", testing::grey_png()),
                                            folder.write("b/2.JPG", "")};
  std::filesystem::create_directory_symlink(folder.path(), folder.path("a/back"));
  std::filesystem::create_symlink("nowhere", folder.path("gone"));
  BOOST_TEST(image_files(folder.path()) == written, boost::test_tools::per_element());
  std::filesystem::create_directories(folder.path("empty"));
  BOOST_CHECK_EXCEPTION(image_files(folder.path("empty")), DataError,
                        message_contains({"empty contains no images"}));
}

BOOST_AUTO_TEST_CASE(dataset_layouts_are_recognised_and_split) {
  const TemporaryFolder folder("sets");
  const ImageSize size{1, 2, 2};
  // Files named like MNIST's, with 10 images of 2 x 2 pixels. All pixels of image i have the value
  // i.
  std::string images = unhex(
                  "00000803"
                  "0000000a"
                  "00000002"
                  "00000002"),
              labels = unhex("000008010000000a");
  for (char i = 0; i < 10; ++i) {
    images.append(4, i);
    labels += static_cast<char>(i % 3);
  }
  folder.write("mnist/t10k-images-idx3-ubyte", images);
  rejects([&] { load_image_data(folder.path("mnist"), size, 1); },
          {"contains no labels for t10k-images-idx3-ubyte"});
  folder.write("mnist/t10k-labels-idx1-ubyte", labels);
  ImageData data = load_image_data(folder.path("mnist"), size, 1);
  BOOST_TEST(data.train.count() == 9);
  BOOST_TEST(data.test.count() == 1);
  BOOST_TEST(data.test.labels.at(0) == 0);
  BOOST_TEST(std::abs(data.test.images.at(0) - 9 / 255.0) < 1e-7);
  BOOST_TEST(data.test.classes.size() == 3U);
  BOOST_TEST(data.about == "the last tenth of t10k-images-idx3-ubyte");
  folder.write("mnist/train-images-idx3-ubyte", images);
  folder.write("mnist/train-labels-idx1-ubyte", labels);
  BOOST_TEST(load_image_data(folder.path("mnist"), size, 1).test.count() == 10);
  folder.write("mnist/train-labels-idx1-ubyte", labels.substr(0, 4) + unhex("00000002") + "ab");
  rejects([&] { load_image_data(folder.path("mnist"), size, 1); },
          {"must be u8 [count, height, width] and u8 [count], not u8[10, 2, 2] and u8[2]"});

  // Files in optdigits format; the images are expanded to three channels.
  folder.write("digits/d.tra", "0,16,0,16,1\n16,16,16,16,0\n");
  folder.write("digits/d.tes", "0,0,0,0,2\n");
  data = load_image_data(folder.path("digits"), {3, 2, 2}, 1);
  BOOST_TEST((data.train.images.sizes() == Sizes{2, 3, 2, 2}));
  BOOST_TEST(data.train.classes.size() == 3U);  // the third class occurs only in the test set
  BOOST_TEST(data.about == "d.tes");

  // One folder per class, with and without separate training and test folders.
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png"}) {
    folder.write(std::string("parts/train/") + name, testing::grey_png());
    folder.write(std::string("parts/val/") + name, testing::grey_png());
    folder.write(std::string("whole/") + name, testing::grey_png());
  }
  BOOST_TEST(load_image_data(folder.path("parts"), size, 1).test.count() == 3);
  for (int i = 0; i < 8; ++i)
    folder.write("whole/a/more" + std::to_string(i) + ".png", testing::grey_png());
  data = load_image_data(folder.path("whole"), size, 1);
  BOOST_TEST(data.train.count() == 10);
  BOOST_TEST((data.test.labels == std::vector<std::int32_t>{0}));
  std::filesystem::create_directories(folder.path("parts/val/c"));
  folder.write("parts/val/c/1.png", testing::grey_png());
  BOOST_TEST(load_image_data(folder.path("parts"), size, 1).train.classes.size() == 3U);
  std::filesystem::rename(folder.path("parts/val/a"), folder.path("parts/val/aa"));
  rejects([&] { load_image_data(folder.path("parts"), size, 1); },
          {"the classes of the test set (aa, b, c) differ from the classes of the training set (a, "
           "b)"});

  rejects([&] { load_image_data(folder.write("x.txt", "x"), size, 1); },
          {"x.txt: expected a folder"});
  BOOST_CHECK_THROW(load_image_data("/nowhere", size, 1), IoError);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
