// What files and data hold is no matter of usage: exit code 1; and what would be silently ignored
// is said.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <limits>

#include "command_files.h"
#include "weft/models/trained/lora_file.h"
#include "weft/serialization/safetensors.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(data_errors)
namespace {

namespace fs = std::filesystem;

const CommandFiles& files() {
  static const CommandFiles shared;
  return shared;
}

BOOST_AUTO_TEST_CASE(adapters_are_merged_once_into_the_model_that_they_were_trained_on) {
  const CommandFiles& weft = files();
  const std::string merge = "merge gpt.weft --out merged.weft --adapters ";
  // Another model of the same shape.
  weft.run(weft.base("train gpt") + " --seed 7 --out other.weft");
  weft.check_refused("merge other.weft --adapters tuned.lora.safetensors --out merged.weft",
                     "were trained beside other weights than those of other.weft");
  LoraAdapters adapters = load_lora(weft.path("tuned.lora.safetensors"));
  BOOST_TEST(!adapters.base.empty());
  const double scale = adapters.scale;
  adapters.scale = -scale;
  save_lora(weft.path("negative.safetensors"), adapters);
  weft.check_refused(merge + "negative.safetensors", "which is not positive");
  adapters.scale = scale;
  Tensor& b = adapters.adapters.begin()->second.b;
  b = b.clone();
  b.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  save_lora(weft.path("nan.safetensors"), adapters);
  weft.check_refused(merge + "nan.safetensors", "holds values that are not finite");

  weft.run(merge + "tuned.lora.safetensors");
  weft.check_refused("merge merged.weft --adapters tuned.lora.safetensors --out twice.weft",
                     "or they are merged into it already");
  // Files of older versions do not say what they belong to.
  adapters = load_lora(weft.path("tuned.lora.safetensors"));
  adapters.base.clear();
  save_lora(weft.path("old.safetensors"), adapters);
  const Outcome old = weft(merge + "old.safetensors");
  BOOST_TEST(old.code == 0);
  BOOST_TEST(contains(old.out, "does not say which model it was trained on"));
  for (const char* name : {"other.weft", "other.svg", "negative.safetensors", "nan.safetensors",
                           "merged.weft", "old.safetensors"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(data_that_are_wrong_are_a_failed_run) {
  const CommandFiles& weft = files();
  weft.write("broken.weft", "no model");
  weft.write("empty.txt", "");
  weft.write("words.txt", "the quick brown fox jumps over the lazy dog\n");
  for (const std::string& arguments :
       {weft.base("train vit") + " --out new.weft --from broken.weft",
        std::string(
            "train encoder --task classify --data labelled.tsv --from broken.weft --out n.weft"),
        std::string("train gpt --text text.txt --from broken.weft --out n.weft"),
        std::string("train seq2seq --pairs pairs.tsv --from broken.weft --out n.weft"),
        std::string("train gpt --text text.txt --resume broken.weft"),
        std::string("train encoder --data labelled.tsv --resume broken.weft"),
        std::string("generate gpt.weft --prompts empty.txt"),
        std::string("train encoder --task mlm+nsp --text words.txt --vocab 36 --out new.weft"),
        std::string("evaluate broken.weft --text text.txt"), std::string("inspect text.txt"),
        std::string("quantize text.txt --out new.weft"), std::string("classify gpt.weft text"),
        std::string("translate gpt.weft text")}) {
    BOOST_TEST_CONTEXT(arguments) BOOST_TEST(weft(arguments).code == 1);
    weft.check_refused(arguments);
  }
  for (const char* name : {"broken.weft", "empty.txt", "words.txt"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(columns_that_are_not_read_are_said) {
  const CommandFiles& weft = files();
  weft.write("more.tsv", weft.read("pairs.tsv") + "a ship\tship a\tCC-BY\n");
  std::string arguments = weft.base("train seq2seq") + " --out more.weft";
  arguments.replace(arguments.find("pairs.tsv"), 9, "more.tsv");
  const Outcome outcome = weft(arguments);
  BOOST_TEST(outcome.code == 0);
  BOOST_TEST(contains(outcome.out, "columns   1 lines of more.tsv have more than two"));
  for (const auto& entry : fs::directory_iterator(weft.path())) {
    if (entry.path().filename().string().starts_with("more.")) fs::remove(entry.path());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
