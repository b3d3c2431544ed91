// weft train encoder as its users see it: pre-training, fine-tuning, going on, refusing.
#include <sys/wait.h>

#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "program_shell.h"
#include "text_files.h"
#include "weft/models/data/text.h"
#include "weft/models/train/text_classifier.h"

namespace weft {
namespace {

class Program {
 public:
  Program() : files_("train_encoder") {
    std::string data, text;
    for (int i = 0; i < 90; ++i) {
      data += i % 3 == 0 ? "spam\twin a free prize now call " : "ham\tsee you at home then ";
      data += std::to_string(i % 9) + "\n";
      text += "all work and no play makes jack a dull boy " + std::to_string(i % 7) + "\n";
    }
    files_.write("sms", data);
    files_.write("text", text);
  }
  std::string path(const std::string& name) const { return files_.path(name); }

  /// Exit code; what was written is in `out` and `err`.
  int operator()(const std::string& task, const std::string& arguments) {
    const std::string command = std::string(WEFT_PROGRAM) + " train encoder --task " + task + " " +
                                arguments + kTiny + " >" + path("out") + " 2>" + path("err") +
                                " </dev/null";
    const int status = std::system(command.c_str());
    out = read_text_file(path("out"));
    err = read_text_file(path("err"));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string sms() const { return "--data " + path("sms"); }

  std::string out, err;

 private:
  static constexpr const char* kTiny = " --threads 2";
  TextFiles files_;
};

const std::string kSmall =
    " --vocab 70 --layers 1 --heads 2 --width 16 --inner 32 --context 16 --batch 4 --warmup 2";

BOOST_AUTO_TEST_CASE(an_encoder_is_pretrained_and_fine_tuned) {
  Program weft;
  BOOST_TEST(weft("mlm", weft.sms() + " --text " + weft.path("text") + kSmall +
                             " --whole-words --steps 6 --stop-after 4 --out " +
                             weft.path("mlm.weft")) == 0);
  BOOST_TEST(contains(weft.out, "159 lines"));  // 80% of 90, and 90; 3 validate
  BOOST_TEST(contains(weft.out, "stopped   at step 4 of 6"));
  BOOST_TEST(weft("mlm", weft.sms() + " --text " + weft.path("text") + " --resume " +
                             weft.path("mlm.weft")) == 0);
  BOOST_TEST(contains(weft.out, "of the hidden tokens found"));

  BOOST_TEST(weft("classify", weft.sms() + " --from " + weft.path("mlm.weft") +
                                  " --freeze 'embeddings.*' --layer-lr-decay 0.9 --steps 60 --batch"
                                  " 8 --lr 0.01 --warmup 5 --out " +
                                  weft.path("spam.weft")) == 0);
  BOOST_TEST(contains(weft.out, "4 new: pooler.weight, pooler.bias, classifier.weight"));
  BOOST_TEST(contains(weft.out, "frozen    4 parameters"));
  BOOST_TEST(contains(weft.out, "72 texts to train on, 18 held out (test part)"));
  BOOST_TEST(contains(weft.out, "held out  accuracy 100.00% of 18 texts"));
  for (const char* name : {"spam.svg", "spam.confusion.svg", "spam.attention.svg"})
    BOOST_TEST(std::filesystem::exists(weft.path(name)));
  const std::vector<std::string> texts = {"call now, win"};
  BOOST_TEST(classify(load_text_classifier(weft.path("spam.weft")), texts, 1)[0].label == 1);
  const Shell shell;
  const Outcome found = shell("classify " + weft.path("spam.weft") + " 'call now, win' --top 1");
  BOOST_TEST(found.code == 0);
  BOOST_TEST(found.out.starts_with("call now, win  spam "));
  BOOST_TEST(shell("classify " + weft.path("mlm.weft") + " x").code == 1);

  BOOST_TEST(weft("classify", weft.sms() + kSmall + " --held-out validation --steps 4 --out " +
                                  weft.path("v.weft")) == 0);
  BOOST_TEST(contains(weft.out, "57 texts to train on, 15 held out (validation part)"));
}

BOOST_AUTO_TEST_CASE(mistakes_are_named_in_one_line) {
  Program weft;
  const std::string out = " --out " + weft.path("m.weft");
  const auto fails = [&](const std::string& task, const std::string& arguments, int code,
                         const std::string& part) {
    BOOST_TEST_CONTEXT(task << " " << arguments) {
      BOOST_TEST(weft(task, arguments) == code);
      BOOST_TEST(contains(weft.err, part));
      BOOST_TEST(std::count(weft.err.begin(), weft.err.end(), '\n') == 1);
    }
  };
  fails("mlm", out, 2, "--text or --data is required");
  fails("classify", out, 2, "--data is required");
  fails("translate", out, 2, "--task");
  fails("mlm", weft.sms() + out + " --freeze 'a*'", 2, "are for --task classify");
  fails("classify", weft.sms() + out + " --whole-words", 2, "are for --task mlm");
  fails("classify", weft.sms() + out + kSmall + " --steps 4 --freeze 'decoder.*'", 2,
        "no parameter matches 'decoder.*'");
  fails("classify", weft.sms() + out + " --vocab 5000", 2, "vocab 5000 is too large for this text");
  fails("classify", weft.sms() + out + kSmall + " --label first --from /nowhere.weft", 1,
        "/nowhere.weft");
  fails("classify", "--data " + weft.path("text") + out, 1, "expected a label and a text");
}

}  // namespace
}  // namespace weft
