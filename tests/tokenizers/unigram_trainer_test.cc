// Trains unigram models and compares them with SentencePiece on the same text.
#include "weft/models/text/tokenizers/train/unigram_trainer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "training_goldens.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/train/unigram_seed.h"

namespace weft {
namespace {

using Texts = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(unigram_models_match_the_quality_of_the_reference) {
  const auto corpus = testing::training_corpus();
  if (!corpus) return;
  const nlohmann::json golden = testing::training_metrics("sentencepiece_0.1.97");
  const Texts trained = {corpus->trained};
  const auto rest = testing::lines_of(corpus->rest);
  struct Case {
    const char* name;
    std::int64_t vocab;
    const char* normalization;
  };
  for (const Case& c :
       {Case{"unigram-1000", 1000, "nmt_nfkc"}, Case{"unigram-4000", 4000, "nmt_nfkc"},
        Case{"unigram-1000-id", 1000, "identity"}}) {
    const auto tokenizer = train_unigram(
        trained, {.vocab = c.vocab, .character_coverage = 1, .normalization = c.normalization});
    BOOST_TEST(tokenizer.vocab_size() == c.vocab);
    double pieces = 0, likelihood = 0;
    for (const std::string& line : rest) {
      for (const std::int32_t id : tokenizer.encode(line)) {
        ++pieces;
        likelihood += double{tokenizer.model().pieces[static_cast<std::size_t>(id)].score};
      }
    }
    const double right = golden.at(c.name).at("pieces");
    const double best = golden.at(c.name).at("log_likelihood");
    std::cout << c.name << ": " << pieces << " pieces (reference: " << right << "), log-likelihood "
              << likelihood << " (" << best << ")\n";
    BOOST_TEST(pieces == right, boost::test_tools::tolerance(0.01));
    BOOST_TEST(likelihood == best, boost::test_tools::tolerance(0.01));
    if (std::string(c.name) != "unigram-1000") continue;
    std::set<std::string> reference_pieces;
    for (const std::string& line : testing::training_lines("ts-unigram-1000.vocab"))
      reference_pieces.insert(line.substr(0, line.find('\t')));
    int same = 0;
    for (const auto& piece : tokenizer.model().pieces)
      same += reference_pieces.contains(piece.text) ? 1 : 0;
    std::cout << same << " of " << reference_pieces.size() << " pieces equal the reference\n";
    BOOST_TEST(same >= 950);
  }
}

BOOST_AUTO_TEST_CASE(substrings_with_several_continuations_are_seed_pieces) {
  const std::u32string blank = U"\u2581", end(1, 0);
  const CountedWords words = {{U"\u2581abc" + blank, 5},
                              {U"\u2581abd" + blank, 1},
                              {U"xbc" + blank, 1},
                              {U"ef" + end, 2},
                              {U"ef" + blank, 3}};
  // "bc" always continues in the same way, regardless of the word in which it occurs.
  const auto found = frequent_parts(words, 10);
  BOOST_TEST_REQUIRE(found.size() == 3U);
  BOOST_TEST((found[0].first == U"\u2581ab"));
  BOOST_TEST(found[0].second == 18);
  BOOST_TEST((found[1].first == U"ab"));
  BOOST_TEST(found[1].second == 12);
  BOOST_TEST((found[2].first == U"ef"));
  BOOST_TEST(found[2].second == 10);
  BOOST_TEST(is_possible_piece(U"\u2581the"));
  BOOST_TEST(!is_possible_piece(U"the\u2581"));
  BOOST_TEST(!is_possible_piece(U"a1"));
  BOOST_TEST(is_possible_piece(U"\u65e5\u306e"));  // Han and Hiragana
  BOOST_TEST(!is_possible_piece(std::u32string(17, U'a')));
}

BOOST_AUTO_TEST_CASE(trained_unigram_models_keep_symbols_and_bytes_and_round_trip) {
  const Texts texts = {"the cat sat on the mat <x>\nthe cats sat, the \u00e9 mats"};
  const auto tokenizer = train_unigram(
      texts, {.vocab = 300, .symbols = {"<x>"}, .character_coverage = 1, .byte_fallback = true});
  BOOST_TEST(tokenizer.find("<x>") == 3);
  BOOST_TEST(tokenizer.decode(tokenizer.encode("the cat <x> \u65e5")) == "the cat <x> \u65e5");
  const auto again = SentencePieceTokenizer::from_bytes(tokenizer.to_bytes());
  BOOST_TEST(again.encode(texts[0]) == tokenizer.encode(texts[0]),
             boost::test_tools::per_element());
  BOOST_TEST(again.to_bytes() == tokenizer.to_bytes());
  BOOST_TEST(train_unigram(texts, {.vocab = 40, .character_coverage = 1}).to_bytes() ==
             train_unigram(texts, {.vocab = 40, .character_coverage = 1}).to_bytes());
  BOOST_CHECK_THROW(train_unigram(texts, {.vocab = 9}), ArgumentError);
  BOOST_CHECK_THROW(train_unigram(texts, {.character_coverage = 2}), ArgumentError);
  BOOST_CHECK_THROW(train_unigram(texts, {.normalization = "nfd"}), ArgumentError);
  BOOST_CHECK_THROW(train_unigram(texts, {.symbols = {"<s>"}}), ArgumentError);
}

}  // namespace
}  // namespace weft
