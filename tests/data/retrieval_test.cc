// Queries and passages: reading files and holding out passages; BM25 and ranking metrics against
// values computed by hand.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/features/bm25.h"
#include "weft/models/data/formats/retrieval_pairs.h"
#include "weft/models/metrics/ranking_metrics.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(retrieval)
namespace {

using Strings = std::vector<std::string>;
using Places = std::vector<std::size_t>;
const auto kClose = boost::test_tools::tolerance(1e-12);

BOOST_AUTO_TEST_CASE(lines_contain_a_query_a_passage_and_any_number_of_negatives) {
  const TextFiles files("retrieval");
  const std::string one = files.write("one", " a \tthe a\r\n\nb\tthe b\tno\t not \n"),
                    two = files.write("two", "c\tthe c");
  const RetrievalPairs pairs = read_retrieval_pairs(Strings{one, two});
  BOOST_TEST(
      (pairs.lines == std::vector<RetrievalPair>{
                          {"a", "the a", {}}, {"b", "the b", {"no", "not"}}, {"c", "the c", {}}}));
  BOOST_TEST(pairs.most_negatives() == 2);
  BOOST_TEST(pairs.texts() == (Strings{"a", "the a", "b", "the b", "no", "not", "c", "the c"}),
             boost::test_tools::per_element());
  BOOST_TEST(RetrievalPairs().most_negatives() == 0);
}

BOOST_AUTO_TEST_CASE(invalid_lines_are_rejected_with_their_place) {
  const TextFiles files("retrieval");
  const auto read = [&](const std::string& text) {
    return [&files, text] { read_retrieval_pairs(Strings{files.write("f", text)}); };
  };
  check_error_message<FormatError>(
      read("a\tb\nalone\n"),
      "f:2: expected 'query <tab> passage [<tab> negative ...]', not a line with one column");
  check_error_message<FormatError>(read("\tb\n"), "f:1: the query is empty");
  check_error_message<FormatError>(read("a\t \n"), "f:1: the passage is empty");
  check_error_message<FormatError>(read("a\tb\tc\t\td\n"), "f:1: negative 2 is empty");
  check_error_message<FormatError>(read(" \n"), "f: there is no line with a query and a passage");
  check_error_message<FormatError>(read("a\t\xff\n"), "f");
  check_error_message<IoError>([] { read_retrieval_pairs(Strings{"/nowhere/f"}); }, "/nowhere/f");
}

BOOST_AUTO_TEST_CASE(all_lines_of_a_passage_are_held_out_together) {
  RetrievalPairs all;
  for (int i = 0; i < 60; ++i)
    all.lines.push_back({"q" + std::to_string(i), "p" + std::to_string(i % 20), {}});
  const RetrievalSplit split = hold_out(all, 0.25, 3);
  BOOST_TEST(split.held_out.size() == 15);  // 5 of 20 passages, with 3 lines each
  BOOST_TEST(split.train.size() == 45);
  std::set<std::string> train, held_out;
  for (const RetrievalPair& line : split.train.lines) train.insert(line.passage);
  for (const RetrievalPair& line : split.held_out.lines) {
    held_out.insert(line.passage);
    BOOST_TEST(!train.contains(line.passage));
  }
  BOOST_TEST(held_out.size() == 5U);
  BOOST_TEST((hold_out(all, 0.25, 3).held_out.lines == split.held_out.lines));
  BOOST_TEST((hold_out(all, 0.25, 4).held_out.lines != split.held_out.lines));
  BOOST_TEST(hold_out(all, 0, 3).held_out.size() == 0);
  RetrievalPairs same{{{"a", "p", {}}, {"b", "p", {}}}};
  check_error_message<DataError>([&] { hold_out(same, 0.5, 1); },
                                 "none of 2 lines can be held out, because all of them have the "
                                 "same passage");
  check_error_message<ArgumentError>([&] { hold_out(all, 1, 1); }, "must be in [0, 1)");
}

BOOST_AUTO_TEST_CASE(bm25_scores_match_the_formula) {
  const Strings texts = {"the cat sat", "The cat, the cat and a dog!", "a bird", ""};
  const Bm25 bm25(texts);
  const auto idf = [](double n) { return std::log(1 + (4 - n + 0.5) / (n + 0.5)); };
  const double mean = 12.0 / 4;
  const auto weight = [&](double f, double length) {
    return f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length / mean));
  };
  const std::vector<double> scores = bm25.scores("cat DOG cat fish");
  BOOST_TEST(scores.size() == 4U);
  BOOST_TEST(scores[0] == 2 * idf(2) * weight(1, 3), kClose);
  BOOST_TEST(scores[1] == 2 * idf(2) * weight(2, 7) + idf(1) * weight(1, 7), kClose);
  BOOST_TEST(scores[2] == 0);
  BOOST_TEST(scores[3] == 0);
  BOOST_TEST(bm25.ranking("a cat dog", 9) == (Places{1, 2, 0}), boost::test_tools::per_element());
  BOOST_TEST(bm25.ranking("dog cat", 1) == (Places{1}), boost::test_tools::per_element());
  BOOST_TEST(bm25.ranking("unknown", 9).empty());
  // Without normalisation and saturation, a score is the sum of the idfs.
  BOOST_TEST(Bm25(texts, {0, 0}).scores("cat dog")[1] == idf(2) + idf(1), kClose);
  BOOST_TEST(Bm25(Strings{"same", "same"}).ranking("same", 2) == (Places{0, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(Bm25(Strings{}).scores("a").empty());
  for (const Bm25Options& invalid :
       {Bm25Options{-1, 0.5}, Bm25Options{NAN, 0.5}, Bm25Options{1, -0.1}, Bm25Options{1, 1.1},
        Bm25Options{INFINITY, 0.5}})
    check_error_message<ArgumentError>([&] { Bm25(texts, invalid); }, "must be at least 0, and b");
}

BOOST_AUTO_TEST_CASE(ranking_metrics_match_values_computed_by_hand) {
  const Places ranking = {4, 2, 7, 1, 9};
  const Relevance two = {{2, 1}, {9, 1}}, graded = {{4, 1}, {7, 3}, {5, 2}};
  const double best = 1 + 1 / std::log2(3);
  BOOST_TEST(ndcg(ranking, two, 10) == (1 / std::log2(3) + 1 / std::log2(6)) / best, kClose);
  BOOST_TEST(ndcg(ranking, two, 3) == 1 / std::log2(3) / best, kClose);
  BOOST_TEST(ndcg(ranking, two, 1) == 0);
  BOOST_TEST(ndcg(ranking, graded, 3) ==
                 (1 + 3 / std::log2(4)) / (3 + 2 / std::log2(3) + 1 / std::log2(4)),
             kClose);
  BOOST_TEST(ndcg(Places{2, 9, 4}, two, 3) == 1, kClose);
  BOOST_TEST(reciprocal_rank(ranking, two, 10) == 0.5);
  BOOST_TEST(reciprocal_rank(ranking, {{9, 1}}, 4) == 0);
  BOOST_TEST(reciprocal_rank(ranking, {{9, 1}}, 5) == 0.2, kClose);
  BOOST_TEST(recall(ranking, two, 2) == 0.5);
  BOOST_TEST(recall(ranking, two, 5) == 1);
  BOOST_TEST(recall(ranking, {{33, 1}}, 5) == 0);
  BOOST_TEST(recall({}, two, 5) == 0);
  check_error_message<ArgumentError>([&] { ndcg(ranking, {}, 10); }, "no document is relevant");
  check_error_message<ArgumentError>([&] { recall(ranking, two, 0); }, "must be at least 1");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
