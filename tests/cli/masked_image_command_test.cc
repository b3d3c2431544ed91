// The command `weft train vit --task masked-image`.
#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(masked_image_command)
namespace {

/// Writes a small dataset, digits.tra and digits.tes, with two classes: images with a bright upper
/// half and images with a bright lower half.
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
}

const std::string kTiny =
    " --image-height 4 --image-width 4 --layers 1 --heads 2 --width 16 --inner 32 --batch 8"
    " --warmup 2 --lr 0.01 --eval-every 10 --shift 0 --rotation 0 --zoom 0 --patch-height 1"
    " --patch-width 1 --threads 2";

BOOST_AUTO_TEST_CASE(masked_image_models_are_trained_resumed_and_fine_tuned) {
  const Shell weft;
  write_digits(weft);
  const std::string data = " --data " + weft.path("data");
  const std::string model = weft.path("m.weft"), other = weft.path("other.weft");
  const std::string start = "train vit --task masked-image --mask-unit 2 --steps 40" + data;
  const Outcome trained = weft(start + " --out " + model + kTiny);
  BOOST_TEST(trained.code == 0);
  BOOST_TEST(trained.err == "");
  BOOST_TEST(contains(trained.out, ": images 1 x 4 x 4, labels ignored\n"));
  BOOST_TEST(contains(trained.out, "40 training images, 4 of them held out for validation"));
  BOOST_TEST(
      contains(trained.out, "masked    12 of 16 patches of every image, in squares of 2 x 2\n"));
  BOOST_TEST(contains(last_line(trained.out), "over the masked pixels of 20 images; baselines: "));
  BOOST_TEST(contains(read_whole_file(weft.path("m.svg")), "loss (deviations)"));
  BOOST_TEST(contains(read_whole_file(weft.path("m.reconstruction.svg")), ">filled in<"));

  // A run that is stopped and resumed in another process gives the same result. The task is read
  // from the file.
  const Outcome stopped = weft(start + " --stop-after 15 --out " + other + kTiny);
  BOOST_TEST(stopped.code == 0);
  BOOST_TEST(contains(last_line(stopped.out), "continue with: weft train vit --data"));
  const Outcome resumed = weft("train vit --threads 1 --resume " + other + data);
  BOOST_TEST(resumed.code == 0);
  BOOST_TEST(last_line(resumed.out) == last_line(trained.out));
  BOOST_TEST(weft("train vit --task masked-image --resume " + other + data).code == 0);

  const Outcome measured = weft("evaluate " + model + data);
  BOOST_TEST(measured.code == 0);
  // Compares "test      loss 0.1234 over the masked pixels of 20 images".
  BOOST_TEST(measured.out.substr(0, 56) == last_line(trained.out).substr(0, 56));
  BOOST_TEST(weft("inspect " + model + " --programs").code == 0);
  const Outcome narrow =
      weft("quantize " + model + " --weights bf16 --out " + weft.path("q.weft") + data);
  BOOST_TEST(narrow.code == 0, narrow.err);
  BOOST_TEST(contains(last_line(narrow.out), "held out  loss "));
  check_error(weft("quantize " + model + " --out " + weft.path("q.weft") + " --text " + model), 2,
              "contains a masked-image model: evaluate it with --data, not with --text");
  check_error(weft("train vit --resume " + weft.path("q.weft") + data), 2,
              "cannot be trained: its weights were quantised");
  check_error(weft("classify " + model + " " + model), 1,
              "holds a masked-image model, which does not classify");

  const std::string few = " --steps 60 --batch 8 --warmup 5 --lr 0.005 --eval-every 0 --threads 2";
  const Outcome tuned = weft("train vit --from " + model + data + " --out " + weft.path("c.weft") +
                             few + " --preset digits --shift 0 --rotation 0 --zoom 0");
  BOOST_TEST(tuned.code == 0, tuned.err);
  BOOST_TEST(contains(tuned.out,
                      "2 new: classifier.weight, classifier.bias; 3 not used: "
                      "mask_token, pixels.bias, pixels.weight\n"));
  BOOST_TEST(contains(tuned.out, "settings  training settings of preset digits\n"));
  BOOST_TEST(contains(tuned.out, "of the trained model"));
  BOOST_TEST(contains(last_line(tuned.out), "accuracy 1.0000 (20 of 20)"));
  check_error(weft("train vit --task masked-image --resume " + weft.path("c.weft") + data), 2,
              "--task masked-image cannot be given with --resume: " + weft.path("c.weft") +
                  " was trained with --task classify");
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_masked_image_options) {
  const Shell weft;
  write_digits(weft);
  const std::string data = " --data " + weft.path("data"), out = " --out " + weft.path("m.weft");
  const auto fails = [&](const std::string& arguments, const std::string& part) {
    BOOST_TEST_CONTEXT(arguments) { check_error(weft("train vit" + arguments + data), 2, part); }
  };
  fails(" --task colour" + out, "--task");
  fails(" --mask-ratio 0.5" + out, "--mask-ratio is for --task masked-image");
  const std::string masked = " --task masked-image" + out;
  fails(masked + " --new 'a.*'", "--reinit needs --from");
  fails(masked + " --freeze 'a.*'", "no parameter matches 'a.*'");
  fails(masked + " --mask-ratio 1", "mask_ratio must be in (0, 1), not 1");
  fails(masked + " --mask-unit 3",
        "mask_unit must divide the 4 rows and 4 columns of patches, not 3");
  fails(masked + " --mask-ratio 0.97", "masks all");
  fails(masked + " --patch-height 4", "masked-image modelling requires square patches");
  BOOST_TEST(weft("train vit --steps 3 --stop-after 1" + masked + data + kTiny).code == 0);
  const std::string resume = " --resume " + weft.path("m.weft");
  fails(resume + " --mask-unit 2", "--mask-unit cannot be given with --resume");
  fails(resume + " --shift 1", "--shift cannot be given with --resume");
  fails(resume + " --from x.weft", "give only one of them");
  fails(resume + " --task classify", "--task classify cannot be given with --resume");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
