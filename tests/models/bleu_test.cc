// Tests of BLEU, chrF and exact match. Expected values follow from the definitions, or come from
// sacreBLEU's documentation and tests for the same texts.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/metrics/bleu.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(bleu)
namespace {

using Texts = std::vector<std::string>;

using testing::says;

void check_tokens(const std::string& line, const Texts& tokens) {
  BOOST_TEST_CONTEXT(line) {
    BOOST_TEST(tokenize_13a(line) == tokens, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(tokenization_follows_mteval_13a) {
  check_tokens("", {});
  check_tokens("  Hello,  world! ", {"Hello", ",", "world", "!"});
  // A full stop or comma between two digits is not split off.
  check_tokens("1,000.5 km. End.", {"1,000.5", "km", ".", "End", "."});
  check_tokens("3.a a.3", {"3", ".", "a", "a", ".", "3"});
  // Hyphens and apostrophes are not split off, except for a hyphen after a digit.
  check_tokens("well-known don't 2-3", {"well-known", "don't", "2", "-", "3"});
  check_tokens("(a)/[b] {c} 5% $x a_b", {"(", "a", ")", "/", "[", "b", "]", "{", "c", "}", "5", "%",
                                         "$", "x", "a", "_", "b"});
  check_tokens("&quot;A &amp; B&quot; &lt;x&gt; <skipped>",
               {"\"", "A", "&", "B", "\"", "<", "x", ">"});
  check_tokens("...", {".", ".", "."});
  // Unicode white space separates tokens. All other non-ASCII characters are treated as letters.
  check_tokens("Va\u00a0! \u00c4r det s\u00e5? \u00abOui\u202f\u00bb",
               {"Va", "!", "\u00c4r", "det", "s\u00e5", "?", "\u00abOui", "\u00bb"});
  check_tokens("line-\nbreak and\nmore", {"linebreak", "and", "more"});
}

// This is the example in sacreBLEU's README, with three sentences and two references per sentence.
BOOST_AUTO_TEST_CASE(bleu_matches_the_published_example) {
  const Texts outputs = {"The dog bit the man.", "It wasn't surprising.",
                         "The man had just bitten him."};
  const std::vector<References> references = {
      {"The dog bit the man.", "The dog had bit the man."},
      {"It was not unexpected.", "No one was surprised."},
      {"The man bit him first.", "The man had bitten the dog."}};
  const Bleu bleu = corpus_bleu(outputs, references);
  BOOST_TEST(std::abs(bleu.score - 48.530827) < 1e-6);
  BOOST_TEST(bleu.to_string() ==
             "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = "
             "18)");
  BOOST_TEST(bleu.signature == "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:weft-0.1.0");
}

BOOST_AUTO_TEST_CASE(bleu_matches_values_computed_by_hand) {
  // "a b c d e" against "a b c d f": precisions 4/5, 3/4, 2/3 and 1/2, no brevity penalty.
  const Bleu some = corpus_bleu({"a b c d e"}, {{"a b c d f"}});
  BOOST_TEST((some.correct == std::array<std::int64_t, 4>{4, 3, 2, 1}));
  BOOST_TEST((some.total == std::array<std::int64_t, 4>{5, 4, 3, 2}));
  BOOST_TEST(some.brevity_penalty == 1);
  BOOST_TEST(std::abs(some.score - 100 * std::pow(0.8 * 0.75 / 1.5 * 0.5, 0.25)) < 1e-10);
  BOOST_TEST(std::abs(corpus_bleu({"x y z t"}, {{"x y z t"}}).score - 100) < 1e-10);

  // Smoothing: the first n-gram order without a match counts as half a match, the next one as a
  // quarter.
  const Bleu smoothed = corpus_bleu({"a b x c d"}, {{"a b y c d"}});
  BOOST_TEST((smoothed.correct == std::array<std::int64_t, 4>{4, 2, 0, 0}));
  BOOST_TEST(std::abs(smoothed.precisions[2] - 100.0 / (2 * 3)) < 1e-10);
  BOOST_TEST(std::abs(smoothed.precisions[3] - 100.0 / (4 * 2)) < 1e-10);
  BOOST_TEST(std::abs(smoothed.score - 100 * std::pow(0.8 * 0.5 / 6 / 8, 0.25)) < 1e-10);

  // Brevity penalty: the output has 4 tokens, the reference 6. Clipping: an n-gram is counted at
  // most as often as it occurs in one reference.
  const Bleu brief = corpus_bleu({"a b c d"}, {{"a b c d e f"}});
  BOOST_TEST(std::abs(brief.score - 100 * std::exp(1 - 6.0 / 4)) < 1e-10);
  BOOST_TEST(corpus_bleu({"the the the the"}, {{"the cat", "the the"}}).correct[0] == 2);

  // Without any match, or if all outputs have fewer than four tokens, the score is 0, because there
  // is no effective order.
  BOOST_TEST(corpus_bleu({"p q r s"}, {{"a b c d"}}).score == 0);
  BOOST_TEST(corpus_bleu({"a b c"}, {{"a b c"}}).score == 0);
  BOOST_TEST(corpus_bleu({"", ""}, {{"a"}, {"b"}}).score == 0);
}

BOOST_AUTO_TEST_CASE(the_closest_reference_length_is_used_and_ties_use_the_shorter_one) {
  const Bleu bleu = corpus_bleu({"a b c d e"}, {{"a b c d e f g", "a b c", "a b c d e f"}});
  BOOST_TEST(bleu.reference_length == 6);
  BOOST_TEST(corpus_bleu({"a b c d e"}, {{"a b c d e f", "a b c d"}}).reference_length == 4);
  const Bleu mixed = corpus_bleu({"a", "b"}, {{"a"}, {"b", "c"}});
  BOOST_TEST(mixed.signature.starts_with("nrefs:var|"));
  BOOST_TEST(corpus_bleu({"a"}, {{"a"}}).signature.starts_with("nrefs:1|"));
}

BOOST_AUTO_TEST_CASE(chrf_matches_values_computed_by_hand) {
  BOOST_TEST(corpus_chrf({"a b c"}, {{"abc"}}) == 100);
  BOOST_TEST(corpus_chrf({"xyz"}, {{"abc"}}) == 0);
  BOOST_TEST(corpus_chrf({""}, {{"abc"}}) == 0);
  // Only orders 1 and 2 exist: precision and recall are both (1/2 + 0) / 2.
  BOOST_TEST(std::abs(corpus_chrf({"aa"}, {{"ab"}}) - 25) < 1e-10);
  // The output "abc" has no 4-grams, so only orders 1 to 3 count. Against "abcd", the precisions
  // are 1, 1, 1 and the recalls are 3/4, 2/3, 1/2.
  const double p = 1, r = (0.75 + 2.0 / 3 + 0.5) / 3;
  BOOST_TEST(std::abs(corpus_chrf({"abc"}, {{"abcd"}}) - 100 * 5 * p * r / (4 * p + r)) < 1e-10);
  // Only the best reference counts. Characters are Unicode code points.
  BOOST_TEST(corpus_chrf({"\u00e5\u00e4\u00f6"}, {{"aao", "\u00e5\u00e4\u00f6"}}) == 100);
}

BOOST_AUTO_TEST_CASE(an_output_that_equals_any_reference_is_an_exact_match) {
  BOOST_TEST(exact_match({"a", "b", "c", "d"}, {{"a"}, {"x", "b"}, {"C"}, {"e"}}) == 0.5);
}

BOOST_AUTO_TEST_CASE(outputs_without_references_are_rejected) {
  BOOST_CHECK_EXCEPTION(corpus_bleu({}, {}), ArgumentError, says("there are no outputs to score"));
  BOOST_CHECK_EXCEPTION(corpus_bleu({"a"}, {}), ArgumentError,
                        says("1 outputs have 0 lists of references"));
  BOOST_CHECK_EXCEPTION(corpus_chrf({"a", "b"}, {{"a"}, {}}), ArgumentError,
                        says("output 1 has no reference"));
  BOOST_CHECK_EXCEPTION(exact_match({"a"}, {{}}), ArgumentError, says("output 0 has no reference"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
