// Trains character BPE and compares the result with SentencePiece on the same text.
#include "weft/models/text/tokenizers/train/character_bpe_trainer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "training_goldens.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/train/character_pairs.h"

namespace weft {
namespace {

using Texts = std::vector<std::string>;

SentencePieceTokenizer train(const Texts& texts, const SentencePieceTraining& options,
                             int threads = 2) {
  TextList list(texts);
  Workers workers({.threads = threads});
  return train_character_bpe(list, options, workers);
}

using Counts = std::vector<std::pair<std::string, std::int64_t>>;

std::vector<std::u32string> pairs_of(const Counts& counts, std::u32string_view characters,
                                     const CharacterPairRules& rules) {
  WordTable words;
  for (const auto& [word, count] : counts) words.add(word, count);
  CountedCharacters counted;
  for (const char32_t c : characters) counted.emplace_back(c, 1);
  return learn_pairs(words, counted, 100, rules);
}

bool any(std::u32string_view) { return true; }

BOOST_AUTO_TEST_CASE(character_bpe_pieces_equal_the_reference) {
  const auto corpus = testing::training_corpus();
  if (!corpus) return;
  const auto golden = testing::training_lines("ts-bpe-1000.vocab");
  const auto tokenizer = train({corpus->trained}, {.vocab = 1000, .character_coverage = 1});
  BOOST_TEST_REQUIRE(tokenizer.vocab_size() == std::ssize(golden));
  testing::GoldenCount count("train: SentencePiece's byte pairs, pieces");
  for (std::size_t id = 0; id < golden.size(); ++id) {
    const auto& piece = tokenizer.model().pieces[id];
    const std::string wanted = golden[id].substr(0, golden[id].find('\t'));
    count.add("piece " + std::to_string(id),
              piece.text == wanted ? "" : "'" + piece.text + "', not '" + wanted + "'");
  }
}

BOOST_AUTO_TEST_CASE(character_bpe_encodes_text_with_as_many_pieces_as_the_reference) {
  const auto corpus = testing::training_corpus();
  if (!corpus) return;
  const nlohmann::json golden = testing::training_metrics("sentencepiece_0.1.97");
  struct Case {
    const char* name;
    std::int64_t vocab;
    bool byte_fallback;
  };
  for (const Case& c : {Case{"bpe-1000", 1000, false}, Case{"bpe-4000", 4000, false},
                        Case{"bpe-1000-bf", 1000, true}}) {
    const auto tokenizer =
        train({corpus->trained},
              {.vocab = c.vocab, .character_coverage = 1, .byte_fallback = c.byte_fallback});
    BOOST_TEST(tokenizer.vocab_size() == c.vocab);
    std::int64_t pieces = 0, unknown = 0;
    for (const std::string& line : testing::lines_of(corpus->rest)) {
      for (const std::int32_t id : tokenizer.encode(line)) {
        ++pieces;
        unknown += id == tokenizer.unk_id() ? 1 : 0;
      }
    }
    const std::int64_t right = golden.at(c.name).at("pieces");
    std::cout << c.name << ": " << pieces << " pieces (reference: " << right << ")\n";
    BOOST_TEST(pieces == right);
    BOOST_TEST(unknown == golden.at(c.name).at("unk").get<std::int64_t>());
  }
}

BOOST_AUTO_TEST_CASE(ties_are_broken_by_length_and_then_by_order) {
  // All pairs occur 5 times. The first of "ab", "bx", "xc", "cd" and "de" is "ab". Merging it
  // removes "bx", so that "cd" is next. "abx" precedes "cde", which has the same length.
  const auto found = pairs_of({{"abxcde", 5}, {"e", 9}}, U"abcdex", {.is_piece = any});
  const std::vector<std::u32string> wanted = {U"ab", U"cd", U"abx", U"cde", U"abxcde"};
  BOOST_TEST((found == wanted));
}

/// The reference counts all pairs again before each merge.
std::vector<std::u32string> pairs_by_definition(const Counts& counts,
                                                std::u32string_view characters,
                                                const CharacterPairRules& rules) {
  std::vector<std::vector<std::u32string>> words;
  for (const auto& [word, count] : counts) {
    words.emplace_back();
    for (const char c : word) words.back().emplace_back(1, static_cast<char32_t>(c));
  }
  std::vector<std::u32string> known, found;
  for (const char32_t c : characters) known.emplace_back(1, c);
  const auto number = [&](const std::u32string& text) {
    return std::find(known.begin(), known.end(), text) - known.begin();
  };
  for (;;) {
    std::map<std::pair<std::u32string, std::u32string>, std::int64_t> pairs;
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (std::size_t at = 0; at + 1 < words[i].size(); ++at)
        pairs[{words[i][at], words[i][at + 1]}] += counts[i].second;
    }
    const auto order = [&](const auto& pair, std::int64_t count) {
      const std::u32string text = pair.first + pair.second;
      return std::tuple(-count, text.size(), text, number(pair.first), number(pair.second));
    };
    const std::pair<std::u32string, std::u32string>* best = nullptr;
    for (const auto& [pair, count] : pairs) {
      const std::u32string text = pair.first + pair.second;
      const bool is_known = number(text) < std::ssize(known);
      if (count < rules.least || !rules.is_piece(text) || (is_known && !rules.joins_to_known))
        continue;
      if (best == nullptr || order(pair, count) < order(*best, pairs[*best])) best = &pair;
    }
    if (best == nullptr || found.size() == 100) return found;
    const auto [left, right] = *best;
    if (number(left + right) == std::ssize(known)) {
      known.push_back(left + right);
      found.push_back(left + right);
    }
    for (auto& word : words) {
      for (std::size_t at = 0; at + 1 < word.size(); ++at) {
        if (word[at] != left || word[at + 1] != right) continue;
        word[at] += right;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(merges_follow_the_definition_for_random_words) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    const std::size_t letters = 1 + random() % 3;
    std::map<std::string, std::int64_t> words;
    for (int i = 0; i < 30; ++i) {
      std::string word;
      for (std::size_t n = 1 + random() % 24; n > 0; --n)
        word += static_cast<char>('a' + random() % letters);
      words[word] += 1 + random() % 5;
    }
    const Counts counts(words.begin(), words.end());
    for (const bool joins : {false, true}) {
      const CharacterPairRules rules{
          .least = 2,
          .is_piece = [](std::u32string_view text) { return text.size() <= 7; },
          .joins_to_known = joins};
      BOOST_TEST((pairs_of(counts, U"abc", rules) == pairs_by_definition(counts, U"abc", rules)));
    }
  }
}

BOOST_AUTO_TEST_CASE(pieces_stay_within_words_scripts_and_lengths) {
  Texts texts;
  for (int i = 0; i < 20; ++i)
    texts.push_back("ab\u0431\u0432 ab\u0431\u0432 a1 a1 " + std::string(40, 'x') +
                    " \u65e5\u306e");
  const auto tokenizer = train(texts, {.vocab = 200, .character_coverage = 1});
  for (const auto& piece : tokenizer.model().pieces) {
    BOOST_TEST(piece.text.find("b\u0431") == std::string::npos);
    BOOST_TEST(piece.text.find("a1") == std::string::npos);
    BOOST_TEST(piece.text.size() <= 16U + 2U);
    BOOST_TEST((piece.text.rfind("\u2581") + 1 <= 1U));
  }
  BOOST_TEST(tokenizer.find("\u2581ab") >= 0);
  BOOST_TEST(tokenizer.find("\u2581\u65e5\u306e") >= 0);
  BOOST_TEST(tokenizer.find(std::string(16, 'x')) >= 0);
}

BOOST_AUTO_TEST_CASE(trained_character_bpe_keeps_symbols_and_bytes_and_round_trips) {
  const Texts texts = {"the cat sat on the mat <x>\nthe cats sat, the \u00e9 mats"};
  for (const char* normalization : {"nmt_nfkc", "identity"}) {
    for (const bool bytes : {false, true}) {
      const SentencePieceTraining options{.vocab = bytes ? 300 : 40,
                                          .symbols = {"<x>"},
                                          .character_coverage = 1,
                                          .normalization = normalization,
                                          .byte_fallback = bytes};
      const auto tokenizer = train(texts, options);
      BOOST_TEST(tokenizer.find("<x>") == 3);
      BOOST_TEST(!tokenizer.model().own);
      BOOST_TEST(train(texts, options, 1).to_bytes() == tokenizer.to_bytes());
      const auto again = SentencePieceTokenizer::from_bytes(tokenizer.to_bytes());
      BOOST_TEST(again.to_bytes() == tokenizer.to_bytes());
      BOOST_TEST(!again.model().own);
      for (const std::string& text : {std::string("the cat <x>  mats"), std::string("a\xFFt")})
        BOOST_TEST(again.encode(text) == tokenizer.encode(text), boost::test_tools::per_element());
      if (bytes)
        BOOST_TEST(tokenizer.decode(tokenizer.encode("the cat <x> \u65e5")) ==
                   "the cat <x> \u65e5");
    }
  }
  BOOST_CHECK_THROW(train(texts, {.vocab = 9}), ArgumentError);
  BOOST_CHECK_THROW(train(texts, {.character_coverage = 2}), ArgumentError);
  BOOST_CHECK_THROW(train(texts, {.normalization = "nfd"}), ArgumentError);
  BOOST_CHECK_THROW(train(texts, {.symbols = {"<s>"}}), ArgumentError);
  BOOST_CHECK_THROW(train(texts, {.min_frequency = -1}), ArgumentError);
}

}  // namespace
}  // namespace weft
