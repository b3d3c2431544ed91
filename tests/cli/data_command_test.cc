// `weft data` converts texts to token files, which `weft train` accepts in place of the texts.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>

#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/text/tokens/token_set.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(data_command)
namespace {

const std::string kTiny =
    " --layers 1 --heads 2 --width 16 --context 16 --batch 4 --warmup 1 --lr 0.01"
    " --eval-every 2 --threads 1";

Outcome succeeds(const Outcome& outcome) {
  BOOST_TEST_CONTEXT(outcome.out << outcome.err) { BOOST_TEST(outcome.code == 0); }
  return outcome;
}

/// A shell whose folder also contains m.weft, a model with a BPE tokenizer trained on text.txt.
struct DataShell : Shell {
  DataShell() {
    succeeds((*this)("train gpt --tokenizer bpe --vocab 60 --text " + path("text.txt") + kTiny +
                     " --steps 2 --out " + path("m.weft")));
  }
  Outcome tokenize(const std::string& out, const std::string& arguments) const {
    return (*this)("data tokenize --tokenizer " + path("m.weft") + " --out " + path(out) + " " +
                   arguments);
  }
};

double bits_of(const Outcome& outcome) {
  const std::size_t at = outcome.out.find("bits_per_byte ");
  BOOST_REQUIRE(at != std::string::npos);
  return std::strtod(outcome.out.c_str() + at + 14, nullptr);
}

BOOST_AUTO_TEST_CASE(token_files_can_be_used_for_training) {
  const DataShell weft;
  const Outcome made = succeeds(weft.tokenize("set", weft.path("text.txt") + " --threads 2"));
  BOOST_TEST(contains(made.out, "tokenizer " + weft.path("m.weft") + ": 60 pieces (digest "));
  BOOST_TEST(contains(made.out, "text      1 file, "));
  BOOST_TEST(contains(made.out, "100%  1 documents, "));
  BOOST_TEST(contains(made.out, "wrote     " + weft.path("set-00000.tok") + ": 1 documents, "));
  const std::string whole = read_whole_file(weft.path("text.txt"));
  const LanguageModel model = load_model<LanguageModel>(weft.path("m.weft"));
  const TokenSet set = TokenSet::open(weft.path("set"));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(set.tokens()));
  set.read(0, ids);
  BOOST_TEST(model.tokenizer.decode(ids) == whole);
  BOOST_TEST(set.bytes() == std::ssize(whole));

  const Outcome shown = succeeds(weft("data inspect " + weft.path("set")));
  BOOST_TEST(contains(shown.out, ": 1 file, 1 documents, "));
  BOOST_TEST(contains(shown.out, "bytes of text\n"));
  BOOST_TEST(
      contains(succeeds(weft("verify " + weft.path("set") + " " + weft.path("set-00000.tok"))).out,
               "intact: 1 token files, 1 documents, "));

  // Token files contain the tokenizer. Both --data and --text accept a set of token files,
  // specified by its prefix or its first file. A single short document cannot be split into a
  // training set and a held-out set.
  check_error(weft("train gpt --data " + weft.path("set") + kTiny + " --steps 4 --out " +
                   weft.path("a.weft")),
              1, "nothing can be held out");
  succeeds(weft.tokenize("set", weft.path("text.txt") + " --documents line"));
  const Outcome trained = succeeds(weft("train gpt --data " + weft.path("set") + kTiny +
                                        " --steps 4 --out " + weft.path("a.weft")));
  BOOST_TEST(contains(trained.out, ", 60 pieces: "));
  BOOST_TEST(contains(trained.out, " pieces for training, "));
  BOOST_TEST(contains(trained.out, " per byte of the held-out text"));
  succeeds(weft("train gpt --data " + weft.path("set-00000.tok") + kTiny + " --steps 4 --out " +
                weft.path("b.weft")));
  succeeds(weft("train gpt --text " + weft.path("set") + kTiny + " --steps 2 --out " +
                weft.path("text.weft")));
  BOOST_TEST(read_whole_file(weft.path("a.weft")) == read_whole_file(weft.path("b.weft")));
  succeeds(weft("evaluate " + weft.path("a.weft") + " --data " + weft.path("set")));
  succeeds(weft("train gpt --from " + weft.path("m.weft") + " --data " + weft.path("set") +
                " --batch 4 --steps 2 --warmup 1 --out " + weft.path("c.weft")));
  check_error(weft("train gpt --data " + weft.path("set") + " --tokenizer bpe" + kTiny +
                   " --steps 2 --out " + weft.path("d.weft")),
              2, "cannot be used with token files");
}

BOOST_AUTO_TEST_CASE(texts_contain_control_tokens_only_on_request) {
  const Shell weft;
  const std::string tokenizer = " --tokenizer " + weft.path("tok.json") + " --out ";
  succeeds(weft("tokenizer train " + weft.path("text.txt") + " --vocab 300 --out " +
                weft.path("tok.json")));
  const std::string text = weft.write("hostile.txt", "all work <|endoftext|> and play\n");
  const std::string usual = weft.write("usual.txt", "all work and play\n");
  const auto ids_of = [&](const std::string& file, const std::string& options) {
    succeeds(weft("data tokenize " + file + tokenizer + weft.path("set") + options));
    const TokenSet set = TokenSet::open(weft.path("set"));
    std::vector<std::int32_t> ids(static_cast<std::size_t>(set.tokens()));
    set.read(0, ids);
    BOOST_TEST(set.tokenizer().decode(ids, {.keep_special = false}).find("work") == 4U);
    return std::pair{ids, std::count(ids.begin(), ids.end(), set.end_id())};
  };
  BOOST_TEST(ids_of(text, "").second == 1);  // the end of the document
  BOOST_TEST(ids_of(text, " --special").second == 2);
  BOOST_TEST((ids_of(usual, "") == ids_of(usual, " --special")));
}

BOOST_AUTO_TEST_CASE(damaged_ids_are_reported_by_training_and_inspection) {
  const DataShell weft;
  succeeds(weft.tokenize("set", weft.path("text.txt") + " --documents line"));
  std::string bytes = read_whole_file(weft.path("set-00000.tok"));
  bytes[128] = static_cast<char>(bytes[128] ^ 1);
  weft.write("set-00000.tok", bytes);
  for (const std::string& command :
       {"data inspect " + weft.path("set"),
        "train gpt --data " + weft.path("set") + kTiny + " --steps 2 --out " + weft.path("a.weft"),
        "evaluate " + weft.path("m.weft") + " --data " + weft.path("set")})
    check_error(weft(command), 1, "the ids are damaged");
}

BOOST_AUTO_TEST_CASE(a_resumed_run_over_several_sources_is_bit_exact) {
  const DataShell weft;
  succeeds(weft.tokenize("a", weft.path("text.txt") + " --documents line --shard-size 2KiB"));
  weft.write("other.jsonl", [] {
    std::string lines;
    for (int i = 0; i < 300; ++i) lines += "{\"body\":\"a dull boy makes work\"}\n";
    return lines;
  }());
  succeeds(weft.tokenize("b", weft.path("other.jsonl") + " --field body"));
  BOOST_TEST(TokenSet::open(weft.path("a")).files().size() > 2U);
  BOOST_TEST(TokenSet::open(weft.path("b")).documents() == 300);
  const std::string data =
      " --data " + weft.path("a") + "=0.3 " + weft.path("b-00000.tok") + "=0.7";
  succeeds(weft("train gpt" + data + kTiny + " --steps 6 --out " + weft.path("whole.weft")));
  succeeds(weft("train gpt" + data + kTiny + " --steps 6 --stop-after 3 --out " +
                weft.path("part.weft")));
  succeeds(weft("train gpt --resume " + weft.path("part.weft") + data + " --threads 2"));
  BOOST_TEST(read_whole_file(weft.path("whole.weft")) == read_whole_file(weft.path("part.weft")));
  const std::string go_on =
      "train gpt --resume " + weft.path("part.weft") + " --steps 8 --data " + weft.path("a");
  check_error(weft(go_on + "=0.5 " + weft.path("b") + "=0.5"), 2, "trained on different data");
  check_error(weft(go_on), 2, "trained on different data");
  check_error(weft(go_on + "=0.5 " + weft.path("b")), 2, "set weights for all");
  check_error(weft(go_on + "=-1 " + weft.path("b") + "=1"), 2, "the weight of ");
  check_error(weft(go_on + " " + weft.path("text.txt")), 2,
              "text.txt is a text file, but there are 2");
  // Remove the last file of a set.
  const std::int64_t last = std::ssize(TokenSet::open(weft.path("a")).files()) - 1;
  std::filesystem::remove(token_file_name(weft.path("a"), last));
  check_error(weft(go_on), 1, "is missing");
}

BOOST_AUTO_TEST_CASE(bits_per_byte_are_similar_for_token_files_and_plain_text) {
  const DataShell weft;
  succeeds(weft.tokenize("set", weft.path("text.txt") + " --documents line"));
  const Outcome of_text = succeeds(
                    weft("evaluate " + weft.path("m.weft") + " --text " + weft.path("text.txt"))),
                of_tokens = succeeds(
                    weft("evaluate " + weft.path("m.weft") + " --data " + weft.path("set")));
  // The results differ slightly: token files have end-of-document ids instead of line breaks.
  BOOST_TEST(bits_of(of_tokens) == bits_of(of_text), boost::test_tools::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(encoders_are_pretrained_on_token_files) {
  const DataShell weft;
  const std::string tiny =
      " --layers 1 --heads 2 --width 16 --inner 32 --context 32 --batch 4 --warmup 1 --steps 2"
      " --threads 1 --out ";
  const std::string task = "train encoder --task ";
  succeeds(
      weft(task + "mlm --vocab 60 --text " + weft.path("text.txt") + tiny + weft.path("mlm.weft")));
  succeeds(weft("data tokenize --tokenizer " + weft.path("mlm.weft") + " --out " +
                weft.path("set") + " --documents line " + weft.path("text.txt")));
  for (const char* objective : {"mlm", "rtd"}) {
    const std::string out = weft.path(std::string(objective) + "2.weft");
    const Outcome trained =
        succeeds(weft(task + objective + " --text " + weft.path("set") + tiny + out));
    BOOST_TEST(contains(trained.out, "text      "));
    BOOST_TEST(contains(trained.out, " documents, "));
    succeeds(weft("evaluate " + out + " --text " + weft.path("set")));
  }
  succeeds(weft(task + "mlm --from " + weft.path("mlm.weft") + " --text " + weft.path("set") +
                " --steps 2 --warmup 1 --batch 4 --out " + weft.path("on.weft")));
  check_error(weft(task + "mlm+nsp --text " + weft.path("set") + tiny + weft.path("x.weft")), 2,
              "is a token file: it does not record sentence boundaries");
  check_error(weft(task + "mlm --text " + weft.path("set") + " " + weft.path("text.txt") + tiny +
                   weft.path("x.weft")),
              2, "token files and text files cannot be mixed");
}

BOOST_AUTO_TEST_CASE(token_files_written_with_another_tokenizer_are_rejected) {
  const DataShell weft;
  succeeds(weft.tokenize("set", weft.path("text.txt")));
  succeeds(weft("train gpt --text " + weft.path("text.txt") + kTiny + " --steps 2 --out " +
                weft.path("chars.weft")));
  for (const char* command : {"evaluate ", "train gpt --from ", "train gpt --resume "}) {
    const Outcome outcome = weft(command + weft.path("chars.weft") + " --data " + weft.path("set") +
                                 (std::string(command).find("--from") == std::string::npos
                                      ? ""
                                      : " --steps 2 --out " + weft.path("x.weft")));
    check_error(outcome, 1, " has 60 pieces (digest ");
    BOOST_TEST(contains(outcome.err, " characters (digest "));
  }
}

BOOST_AUTO_TEST_CASE(data_tokenize_rejects_invalid_arguments) {
  const DataShell weft;
  const std::string text = weft.path("text.txt");
  check_error(weft.tokenize("set.tok", text), 2, "is not a prefix for file names");
  check_error(weft("data tokenize --tokenizer " + text + " --out x"), 2, "files");
  check_error(weft.tokenize("set", weft.path("nowhere.txt")), 1, "nowhere.txt");
  check_error(weft.tokenize("nowhere/set", text), 1, "there is no folder");
  check_error(weft.tokenize("set", weft.write("bad.txt", "a\n\xFF")), 1,
              "bad.txt, line 2: not UTF-8: invalid sequence at byte 2");
  check_error(weft.tokenize("set", weft.write("bad.jsonl", "{}")), 1,
              "bad.jsonl, line 1 (byte 0): the object has no field 'text'");
  check_error(weft.tokenize("set", weft.write("empty.txt", "")), 1, "there is no text");
  check_error(weft.tokenize("set", text + " --documents word"), 2, "--documents");
  BOOST_TEST(!std::filesystem::exists(weft.path("set-00000.tok")));
  weft.write("set-00000.tok", "mine");
  check_error(weft.tokenize("set", text), 1, "already exists and is not a token file");
  BOOST_TEST(read_whole_file(weft.path("set-00000.tok")) == "mine");
  succeeds(weft.tokenize("set", text + " --force"));
  succeeds(weft.tokenize("set", text));
  check_error(weft.tokenize("set", weft.path("set-00000.tok")), 2, "which is an input");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
