// The commands `weft train seq2seq` and `weft translate`.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <string>

#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(seq2seq_program)
namespace {

const std::string kSmall =
    " --encoder-layers 1 --decoder-layers 1 --width 16 --encoder-heads 2 --decoder-heads 2 "
    "--encoder-inner 32 --decoder-inner 32 --batch 64 --steps 6 --eval-every 3 --threads 2";

/// Writes pairs of English and Swedish number words and returns the path.
std::string write_pairs(const Shell& weft) {
  const std::string path = weft.path("pairs.tsv");
  std::ofstream file(path);
  const char* const ours[] = {"one", "two", "three", "four", "five", "six"};
  const char* const theirs[] = {"ett", "tv\u00e5", "tre", "fyra", "fem", "sex"};
  for (int a = 0; a < 6; ++a) {
    for (int b = 0; b < 6; ++b)
      file << ours[a] << " and " << ours[b] << ".\t" << theirs[a] << " och " << theirs[b] << ".\n";
  }
  return path;
}

BOOST_AUTO_TEST_CASE(a_translator_is_trained_resumed_and_used) {
  const Shell weft;
  const std::string pairs = " --pairs " + write_pairs(weft);
  const std::string start =
      "train seq2seq --preset eng-swe-short --vocab 60 --validation-fraction "
      "0.1" +
      pairs + kSmall;
  const std::string model = weft.path("m.weft"), other = weft.path("other.weft");
  const Outcome trained = weft(start + " --out " + model);
  BOOST_TEST_CONTEXT(trained.out + trained.err) {
    BOOST_TEST_REQUIRE(trained.code == 0);
    BOOST_TEST(contains(trained.out, "60 pieces"));
    BOOST_TEST(contains(trained.out, "30 for training, 3 for validation, 3 for testing"));
    BOOST_TEST(contains(trained.out, "perplexity"));
    BOOST_TEST(contains(trained.out, "greedy    BLEU = "));
    BOOST_TEST(contains(trained.out, "beams     BLEU = "));
    BOOST_TEST(contains(trained.out, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"));
    BOOST_TEST(contains(trained.out, "\nsource    "));
    BOOST_TEST(contains(trained.out, "\nreference "));
  }
  for (const char* plot : {"m.svg", "m.measure.svg", "m.attention.svg"})
    BOOST_TEST(contains(read_whole_file(weft.path(plot)), "<svg"));

  const Outcome stopped = weft(start + " --stop-after 2 --out " + other);
  BOOST_TEST(contains(last_line(stopped.out), "continue with: weft train seq2seq --pairs "));
  const std::string best = weft.path("best.weft");
  const Outcome resumed =
      weft("train seq2seq --threads 1 --resume " + other + pairs + " --best " + best);
  BOOST_TEST(contains(resumed.out, "over the whole split: " + best));
  BOOST_TEST(weft("translate " + best + " 'one and two.'").code == 0);
  const auto figures = [](const std::string& out) { return out.substr(out.find("\ntest ")); };
  BOOST_TEST(figures(resumed.out).substr(0, 300) == figures(trained.out).substr(0, 300));
  check_error(weft("train seq2seq --resume " + other), 2, "--pairs is required");
  check_error(weft("train seq2seq --resume " + other + pairs + " --width 8"), 2,
              "--width cannot be given with --resume");
  check_error(weft("train seq2seq --resume " + other + pairs + " --vocab 70"), 2,
              "--vocab cannot be given with --resume");

  const Outcome said = weft("translate " + model + " 'one and two.' 'six and six.' --beams 2");
  BOOST_TEST(said.code == 0);
  BOOST_TEST(std::count(said.out.begin(), said.out.end(), '\n') == 2);
  std::ofstream(weft.path("lines.txt")) << "one and two.\nsix and six.\n";
  BOOST_TEST(weft("translate " + model + " --beams 2 --input " + weft.path("lines.txt")).out ==
             said.out);
  check_error(weft("translate " + model), 2, "give texts as arguments, or");
  check_error(weft("translate " + model + " a --input b"), 2, "give either texts as arguments or");
  check_error(weft("translate " + model + " a --beams 0"), 2, "--beams");
  check_error(weft("translate " + weft.path("lines.txt") + " a"), 1, "lines.txt");
  // `weft translate` and `weft generate` print the same text.
  const std::string one = weft("translate " + model + " 'one and two.'").out;
  BOOST_TEST(!one.empty());
  BOOST_TEST(weft("generate " + model + " --greedy --prompt 'one and two.'").out == one);
  check_error(
      weft("chat " + model), 1,
      model +
          " holds a translator, which does not hold conversations; use it with weft generate, "
          "weft score, weft translate");
}

BOOST_AUTO_TEST_CASE(the_reversal_preset_needs_no_pairs) {
  const Shell weft;
  const std::string model = weft.path("r.weft");
  const Outcome trained = weft("train seq2seq --preset reversal --out " + model + kSmall +
                               " --validation-fraction 0.001");
  BOOST_TEST_CONTEXT(trained.out + trained.err) {
    BOOST_TEST_REQUIRE(trained.code == 0);
    BOOST_TEST(contains(trained.out, "28 characters"));
    BOOST_TEST(contains(trained.out, "test      exact match "));
  }
  BOOST_TEST(weft("translate " + model + " abc").code == 0);
  check_error(weft("translate " + model + " A1"), 1, "character 'A' (U+0041) at position 0");
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_translator_options) {
  const Shell weft;
  const std::string out = " --out " + weft.path("m.weft"), pairs = " --pairs " + write_pairs(weft);
  check_error(weft("train seq2seq" + out), 2, "--pairs is required");
  check_error(weft("train seq2seq" + pairs), 2, "--out is required");
  check_error(weft("train seq2seq --preset eng-ger" + pairs + out), 2, "unknown preset 'eng-ger'");
  check_error(weft("train seq2seq --preset reversal" + pairs + out), 2, "leave out --pairs");
  check_error(weft("train seq2seq --preset reversal --vocab 50" + out), 2, "leave out --vocab");
  check_error(weft("train seq2seq --vocab 60 --width 30 --encoder-heads 4" + pairs + out), 2,
              "width");
  check_error(weft("train seq2seq --validation-fraction 0.6" + pairs + out), 2,
              "must be in (0, 0.5), not 0.6");
  check_error(weft("train seq2seq --pairs /nowhere.tsv" + out), 1, "/nowhere.tsv");
  check_error(weft("train seq2seq --pairs " + weft.path("text.txt") + out), 1,
              "line 1: there is no second column");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
