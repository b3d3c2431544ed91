#include "weft/models/vectors/word_vectors.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/vectors/word_similarity.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

WordVectors family() {
  return WordVectors(
      {"man", "woman", "king", "queen", "boat", "nothing"},
      Tensor::of<float>({6, 3}, {1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, -1, 0, 2, 0, 0, 0}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(word_vectors)

BOOST_AUTO_TEST_CASE(neighbours_are_ordered_by_cosine) {
  const WordVectors v = family();
  const auto found = v.nearest("queen", 3);
  BOOST_REQUIRE_EQUAL(found.size(), 3U);
  BOOST_TEST(found[0].word == "woman");  // ties are in vocabulary order
  BOOST_TEST(found[1].word == "king");
  BOOST_TEST(found[2].word == "man");
  BOOST_TEST(found[0].cosine == 2 / std::sqrt(6.0), boost::test_tools::tolerance(1e-6));
  BOOST_TEST(v.nearest("queen", 100).size() == 5U);
  BOOST_TEST(v.cosine(v.at("man"), v.at("nothing")) == 0);
  BOOST_TEST(v.nearest("nothing", 1)[0].cosine == 0);
}

BOOST_AUTO_TEST_CASE(analogies_exclude_the_query_words) {
  const auto found = family().analogy("man", "king", "woman", 2);
  BOOST_TEST(found[0].word == "queen");
}

BOOST_AUTO_TEST_CASE(lookup_falls_back_to_lower_case) {
  const WordVectors v = family();
  BOOST_TEST(v.find("King") == 2);
  BOOST_TEST(v.find("duke") == -1);
  check_error<ArgumentError>([&] { v.nearest("quene", 1); },
                             {"there is no embedding of 'quene' (did you mean 'queen'?)"});
}

BOOST_AUTO_TEST_CASE(copies_are_independent) {
  std::optional<WordVectors> first(family());
  const WordVectors second = *first;
  first.reset();
  BOOST_TEST(second.nearest("queen", 1)[0].word == "woman");
}

BOOST_AUTO_TEST_CASE(invalid_embeddings_are_rejected) {
  const auto check_rejected = [](std::vector<std::string> words, const Tensor& t,
                                 const std::string& why) {
    check_error<ArgumentError>([&] { WordVectors(words, t); }, {why});
  };
  const Tensor two = Tensor::zeros(DType::f32, {2, 3});
  check_rejected({"a"}, two, "1 words require vectors of type f32[1, width], not f32[2, 3]");
  check_rejected({"a", "b"}, two.to(DType::f64), "not f64[2, 3]");
  check_rejected({"a", "a"}, two, "the word 'a' occurs twice");
  check_rejected({"a", ""}, two, "word 1 is empty or contains white space");
  check_rejected({"a", "b c"}, two, "word 1 is empty or contains white space");
  check_rejected({"a", "b"}, Tensor::full(DType::f32, {2, 1}, NAN),
                 "the embedding of 'a' contains NaN");
}

BOOST_AUTO_TEST_CASE(word_similarity_uses_only_pairs_with_embeddings) {
  const TemporaryFolder folder("pairs");
  const std::string path = folder.write(
      "pairs.txt", "# a comment\nman\tKing\t7.5\nman woman 8\r\n\nqueen boat 1\nman duke 3\n");
  const auto pairs = read_word_pairs(path);
  BOOST_REQUIRE_EQUAL(pairs.size(), 4U);
  BOOST_TEST(pairs[1].second == "woman");
  BOOST_TEST(pairs[1].score == 8);
  const WordSimilarity found = measure_similarity(family(), pairs);
  BOOST_TEST(found.covered == 3);
  BOOST_TEST(found.pairs == 4);
  // Two of the cosines are equal, and one is smaller.
  BOOST_TEST(found.spearman == std::sqrt(3.0) / 2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(std::isnan(measure_similarity(family(), {{"a", "b", 1}}).spearman));
  const auto broken = [&](const char* text, const std::string& why) {
    const std::string file = folder.write("broken.txt", text);
    check_error<FormatError>([&] { read_word_pairs(file); }, {"broken.txt" + why});
  };
  broken("a b 1\na b\n", ":2: expected two words and a score, found 2 fields");
  broken("a b much\n", ":1: the score");
  broken("\n", ": the file contains no word pairs");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
