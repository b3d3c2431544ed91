// Splitting documents into passages: maximum and minimum lengths, and coverage of all sentences.
#include <boost/test/unit_test.hpp>
#include <set>

#include "weft/core/error.h"
#include "weft/models/data/batching/passages.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(passages)
namespace {

using Documents = std::vector<std::vector<TokenIds>>;

BOOST_AUTO_TEST_CASE(passages_consist_of_whole_sentences_of_one_document) {
  const Passages passages(Documents{{{1, 2}, {3}, {}, {4, 5, 6}, {7}}, {{8}}, {}, {{9, 9}}}, 4);
  BOOST_TEST(passages.documents() == 3);
  BOOST_TEST(passages.tokens() == 10);
  // Passages that begin with sentence {7} or {8} would have only one id.
  BOOST_TEST(passages.count() == 4);
  BOOST_TEST((passages.at(0) == std::vector<TokenIds>{{1, 2}, {3}}));
  BOOST_TEST((passages.at(1) == std::vector<TokenIds>{{3}, {4, 5, 6}}));
  BOOST_TEST((passages.at(2) == std::vector<TokenIds>{{4, 5, 6}, {7}}));
  BOOST_TEST((passages.at(3) == std::vector<TokenIds>{{9, 9}}));
  BOOST_TEST((passages.cover() == std::vector<std::int64_t>{0, 2, 3}));
  check_error_message<ArgumentError>([&] { (void)passages.at(4); }, "passage 4 is outside [0, 4)");
}

BOOST_AUTO_TEST_CASE(a_long_sentence_is_split) {
  const Passages passages(Documents{{{1, 2, 3, 4, 5, 6, 7}, {8}}}, 3);
  BOOST_TEST((passages.at(0) == std::vector<TokenIds>{{1, 2, 3}}));
  BOOST_TEST((passages.at(1) == std::vector<TokenIds>{{4, 5, 6}}));
  BOOST_TEST((passages.at(2) == std::vector<TokenIds>{{7}, {8}}));
  BOOST_TEST(passages.count() == 3);
}

BOOST_AUTO_TEST_CASE(the_covering_passages_contain_every_sentence) {
  const Passages passages(Documents{{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}}, 4, 2);
  std::set<std::int64_t> seen;
  for (const std::int64_t i : passages.cover()) {
    BOOST_TEST(passages.at(i).size() == 2U);
    for (const TokenIds& sentence : passages.at(i)) seen.insert(sentence.front());
  }
  BOOST_TEST(seen.size() == 5U);
  BOOST_TEST(passages.cover().size() == 3U);
}

BOOST_AUTO_TEST_CASE(errors_explain_why_no_passage_can_be_formed) {
  check_error_message<ArgumentError>(
      [] {
        Passages(Documents{{{1, 2}}}, 1);
      },
      "needs at least 2 tokens, not 1");
  check_error_message<ArgumentError>(
      [] {
        Passages(Documents{{{1, 2}}, {{3}}}, 8, 2);
      },
      "no passage of up to 8 tokens has at least 2 sentences and 2 tokens: there are 2 documents "
      "with 3 tokens in total");
  check_error_message<ArgumentError>([] { Passages(Documents{}, 8); }, "there are 0 documents");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
