// The command `weft tokenizer`: training, files and output.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_files.h"
#include "weft/models/text/tokenizers/read_tokenizer.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(tokenizer_command)
namespace {

namespace fs = std::filesystem;

const CommandFiles& files() {
  static const CommandFiles shared;
  return shared;
}

std::string succeeds(const std::string& arguments) {
  const Outcome outcome = files()(arguments);
  BOOST_TEST_CONTEXT("weft " << arguments << "\n" << outcome.err) BOOST_TEST(outcome.code == 0);
  return outcome.out;
}

BOOST_AUTO_TEST_CASE(every_tokenizer_type_can_be_trained_and_round_trips_text) {
  for (const std::string kind : {"byte-bpe", "bpe", "wordpiece", "unigram", "word"}) {
    const std::string vocab = kind == "byte-bpe" ? "270" : "60";
    BOOST_TEST_CONTEXT(kind) {
      const std::string printed = succeeds("tokenizer train text.txt --kind " + kind + " --vocab " +
                                           vocab + " --out t.json");
      BOOST_TEST(contains(printed, "tokenizer " + kind + ": "));
      BOOST_TEST(contains(printed, "wrote t.json\n"));
      const Tokenizer tokenizer = read_tokenizer(files().path("t.json"));
      BOOST_TEST(tokenizer.type() == "weft.tokenizer.subword");
      std::string ids = succeeds("tokenizer encode t.json 'all work and no play'");
      BOOST_TEST(!ids.empty());
      ids.pop_back();
      BOOST_TEST(succeeds("tokenizer decode t.json " + ids) == "all work and no play\n");
      BOOST_TEST(succeeds("tokenizer decode t.json '" + ids + "'") == "all work and no play\n");
      const std::string shown = succeeds("tokenizer inspect t.json");
      BOOST_TEST(contains(shown, "t.json: weft.tokenizer.subword\n"));
      BOOST_TEST(contains(shown, "  longest pieces\n"));
      BOOST_TEST(contains(shown, "  digest "));
      // Training with a different number of threads writes the same file.
      succeeds("tokenizer train text.txt --threads 1 --kind " + kind + " --vocab " + vocab +
               " --out again.json");
      BOOST_TEST((files().read("t.json") == files().read("again.json")));
    }
  }
  for (const char* name : {"t.json", "again.json"}) fs::remove(files().path(name));
}

BOOST_AUTO_TEST_CASE(ids_are_printed_in_the_requested_form) {
  const CommandFiles& weft = files();
  succeeds("tokenizer train text.txt --kind word --special '<unk>' --special '[X]' --out w.json");
  const std::string all = succeeds("tokenizer encode w.json all");
  const std::string id = all.substr(0, all.size() - 1);
  BOOST_TEST(succeeds("tokenizer encode w.json 'all [X]!' --pieces") ==
             id + "\tall\n1\t[X]\n0\t<unk>\n");
  BOOST_TEST(succeeds("tokenizer encode w.json 'all [X]' --spans") ==
             id + "\t0\t3\tall\n1\t4\t7\t[X]\n");
  const auto json = nlohmann::json::parse(succeeds("tokenizer encode w.json 'all [X]' --json"));
  BOOST_TEST((json == nlohmann::json{{"ids", {std::stoi(id), 1}},
                                     {"pieces", {"all", "[X]"}},
                                     {"spans", {{0, 3}, {4, 7}}}}));
  // With --plain, "[X]" is ordinary text and consists of three unknown words.
  BOOST_TEST(succeeds("tokenizer encode w.json '[X]' --plain") == "0 0 0\n");
  BOOST_TEST(succeeds("tokenizer decode w.json 1 " + id) == "all\n");
  BOOST_TEST(succeeds("tokenizer decode w.json 1 " + id + " --special") == "[X] all\n");
  weft.write("lines", "all\n\nall all\n");
  BOOST_TEST(succeeds("tokenizer encode w.json --file lines --lines") ==
             id + "\n\n" + id + " " + id + "\n");
  BOOST_TEST(succeeds("tokenizer encode w.json --file lines") == id + " " + id + " " + id + "\n");
  BOOST_TEST(succeeds("tokenizer encode w.json") == "\n");  // stdin is empty
  BOOST_TEST(succeeds("tokenizer decode w.json") == "\n");
  weft.check_rejected("tokenizer encode w.json all --file lines", "give only one of them");
  weft.check_rejected("tokenizer encode w.json all --pieces --json", "give only one of them");
  weft.check_rejected("tokenizer decode w.json 1 two", "ids");
  weft.check_rejected("tokenizer decode w.json 100000",
                      "token id 100000 is outside the vocabulary");
  weft.check_rejected("tokenizer train text.txt --special $(printf '\\377') --out x.json",
                      "special_tokens: '\\xff' is not UTF-8");
  weft.check_rejected(
      "tokenizer train text.txt --kind wordpiece --prefix $(printf '\\377') --out x.json",
      "continuing_subword_prefix: '\\xff' is not UTF-8");
  for (const char* name : {"w.json", "lines"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(inspect_accepts_all_files_with_tokenizers) {
  const CommandFiles& weft = files();
  const std::string of_model = succeeds("tokenizer inspect gpt.weft");
  BOOST_TEST(contains(of_model, "weft.tokenizer.character"));
  BOOST_TEST(contains(succeeds("tokenizer encode gpt.weft all --pieces"), "\ta\n"));
  succeeds("tokenizer train text.txt --vocab 300 --out b.json");
  fs::create_directory(weft.path("of_bytes"));
  fs::copy_file(weft.path("b.json"), weft.path("of_bytes/tokenizer.json"));
  const std::string shown = succeeds("tokenizer inspect of_bytes");
  BOOST_TEST(contains(shown, "pre_tokenizer    ByteLevel (add_prefix_space false"));
  BOOST_TEST(succeeds("tokenizer encode of_bytes 'no play'") ==
             succeeds("tokenizer encode b.json 'no play'"));
  weft.check_rejected("tokenizer inspect text.txt", "text.txt: ");
  weft.check_rejected("tokenizer inspect documents.txt", "supported are a tokenizer.json");
  weft.check_rejected("tokenizer inspect digits", "digits has no tokenizer");
  weft.check_rejected("tokenizer inspect missing", "missing");
  weft.write("empty", "");
  weft.check_rejected("tokenizer inspect empty", "empty: ");
  fs::remove_all(weft.path("of_bytes"));
  fs::remove(weft.path("b.json"));
}

BOOST_AUTO_TEST_CASE(training_errors_name_the_supported_options) {
  const CommandFiles& weft = files();
  const std::string start = "tokenizer train text.txt --out t.json ";
  weft.check_rejected(start + "--kind unigram --min-frequency 3",
                      "min_frequency is not supported for a tokenizer of kind unigram");
  weft.check_rejected(start + "--lowercase",
                      "lowercase is not supported for a tokenizer of kind byte-bpe");
  weft.check_rejected(start + "--vocab 100",
                      "vocab 100 is too small: 256 characters and 1 special");
  weft.check_rejected(start + "--kind wordpiece --special x", "<unk> or [UNK]");
  weft.check_rejected("tokenizer train missing --out t.json", "missing");
  weft.check_rejected("tokenizer train digits --out t.json", "the folder digits has no file");
  weft.check_rejected("tokenizer train text.txt --out t.weft", "its name should not end in .weft");
  weft.write("own.json", "{\"mine\": 1}");
  weft.check_rejected("tokenizer train text.txt --out own.json", "is not a tokenizer.json");
  succeeds("tokenizer train text.txt --out own.json --force --vocab 270");
  succeeds("tokenizer train text.txt --out own.json --vocab 271");  // a file of the same type
  const std::string few = succeeds("tokenizer train text.txt --kind word --out own.json");
  BOOST_TEST(contains(few, "ids instead of the requested 8,000: the text"));
  fs::remove(weft.path("own.json"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
