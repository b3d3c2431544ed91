// The commands `weft train vit`, `weft classify` and `weft evaluate` with images.
#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/image_files.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(vit_program)
namespace {

/// Writes a small dataset, digits.tra and digits.tes, with two classes: images with a bright upper
/// half and images with a bright lower half. Also writes the image picture.png.
void write_digits(const Shell& weft) {
  std::string train, test;
  for (int i = 0; i < 60; ++i) {
    std::string line;
    for (int p = 0; p < 16; ++p) {
      const bool light = (p < 8) == (i % 2 == 0);
      line += std::to_string((light ? 9 : 0) + (i * 7 + p * 5) % 8) + ",";
    }
    (i < 40 ? train : test) += line + std::to_string(i % 2) + "\n";
  }
  weft.write("data/digits.tra", train);
  weft.write("data/digits.tes", test);
  // The image has 4 x 4 pixels: two rows of value 40 and two rows of value 220.
  weft.write("picture.png",
             testing::unhex(
                 "89504e470d0a1a0a0000000d49484452000000040000000408000000008c9ac1a200000016494441"
                 "54789c63d4606060606260606060bc036301000b0e010bacd309100000000049454e44ae426082"));
}

const std::string kTiny =
    " --image-height 4 --image-width 4 --layers 1 --heads 2 --width 16 --inner 32 --batch 8"
    " --warmup 2 --lr 0.01 --eval-every 10 --padding 0 --shift 0 --rotation 0 --threads 2";

BOOST_AUTO_TEST_CASE(image_classifiers_are_trained_resumed_evaluated_and_used) {
  const Shell weft;
  write_digits(weft);
  const std::string data = " --data " + weft.path("data");
  const std::string model = weft.path("m.weft"), other = weft.path("other.weft");
  const Outcome trained = weft("train vit --steps 40" + data + " --out " + model + kTiny);
  BOOST_TEST(trained.code == 0);
  BOOST_TEST(trained.err == "");
  BOOST_TEST(contains(trained.out, "2 classes, images 1 x 4 x 4"));
  BOOST_TEST(contains(trained.out,
                      "40 training images, 4 of them held out for validation (seed 1337); 20 test "
                      "images (digits.tes)"));
  BOOST_TEST(contains(trained.out, "step 40/40"));
  BOOST_TEST(contains(trained.out, "  accuracy "));
  BOOST_TEST(contains(trained.out, "class  precision  recall      F1  examples\n"));
  BOOST_TEST(contains(last_line(trained.out), "accuracy 1.0000 (20 of 20)"));
  for (const char* name : {"m.svg", "m.confusion.svg", "m.attention.svg"})
    BOOST_TEST(contains(read_whole_file(weft.path(name)), "<svg"));

  // A run that is stopped and resumed in another process gives the same result.
  const Outcome stopped =
      weft("train vit --steps 40 --stop-after 15" + data + " --out " + other + kTiny);
  BOOST_TEST(stopped.code == 0);
  BOOST_TEST(contains(last_line(stopped.out), "continue with: weft train vit --data"));
  const std::string best = weft.path("best.weft");
  const Outcome resumed =
      weft("train vit --threads 1 --resume " + other + data + " --best " + best + " --patience 9");
  BOOST_TEST(resumed.code == 0);
  BOOST_TEST(last_line(resumed.out) == last_line(trained.out));
  BOOST_TEST(contains(resumed.out, "over the whole split: " + best));
  BOOST_TEST(weft("evaluate " + best + data).code == 0);

  const Outcome measured = weft("evaluate " + model + data);
  BOOST_TEST(measured.code == 0);
  BOOST_TEST(contains(last_line(measured.out), "accuracy 1.0000 (20 of 20: digits.tes)"));
  // The lower half of the image is bright, so the class is 1.
  const std::string picture = weft.path("picture.png");
  const Outcome found = weft("classify " + model + " " + picture + " " + picture + " --top 1");
  BOOST_TEST(found.code == 0);
  BOOST_TEST(found.out.starts_with(picture + "  1 "));
  BOOST_TEST(contains(found.out, "\n" + picture + "  1 "));
  BOOST_TEST(weft("inspect " + model + " --programs").code == 0);
}

BOOST_AUTO_TEST_CASE(vit_command_errors_are_one_line) {
  const Shell weft;
  write_digits(weft);
  const std::string data = " --data " + weft.path("data"), out = " --out " + weft.path("m.weft");
  check_error(weft("train vit" + out), 2, "--data is required");
  check_error(weft("train vit" + data), 2, "--out is required");
  check_error(weft("train vit --preset cats" + data + out), 2,
              "unknown preset 'cats': expected one of digits, mnist, images");
  check_error(weft("train vit --rotation 200" + data + out), 2,
              "rotation must be from 0 to 180 degrees, not 200");
  check_error(weft("train vit --width 30" + data + out), 2,
              "width 30 is not a multiple of heads 4");
  check_error(weft("train vit --resume x.weft --flip" + data), 2,
              "--flip cannot be given with --resume");
  check_error(weft("train vit --data /nowhere" + out), 1, "cannot read /nowhere");
  check_error(weft("evaluate x.weft"), 2, "the training data is required: --text, --data, ");
  check_error(weft("classify x.weft"), 2, "no input: give inputs as arguments, or --input");
  BOOST_TEST(weft("train vit --steps 3 --stop-after 1" + data + out + kTiny).code == 0);
  check_error(weft("evaluate " + weft.path("m.weft") + " --text a" + data), 2,
              "contains an image classifier: evaluate it with --data, not with --text");
  check_error(weft("classify " + weft.path("m.weft") + " " + weft.path("data/digits.tra")), 1,
              "digits.tra: not a PNG, JPEG or BMP file at byte 0");
  weft.write("more/a.tra", "0,16,0,16,2\n");
  weft.write("more/a.tes", "0,16,0,16,2\n");
  check_error(weft("train vit --resume " + weft.path("m.weft") + " --data " + weft.path("more")), 1,
              "the model has the classes (0, 1), but ");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
