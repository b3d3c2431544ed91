// Compares the best segmentations of unigram models with an exhaustive search.
#include "weft/models/text/tokenizers/subwords/unigram.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

using ScoredPieces = std::vector<std::pair<std::string, double>>;

Unigram model_of(const ScoredPieces& pieces, std::optional<std::int32_t> unknown,
                 bool byte_fallback) {
  std::vector<Unigram::Entry> entries;
  for (const auto& [text, score] : pieces) entries.push_back({text, score});
  return Unigram(entries, {.unknown = unknown, .byte_fallback = byte_fallback});
}

std::vector<std::int32_t> ids(const std::vector<Unigram::Piece>& pieces) {
  std::vector<std::int32_t> result;
  for (const auto& piece : pieces) result.push_back(piece.id);
  return result;
}

std::vector<Unigram::Piece> segment(const Unigram& model, const std::string& text) {
  std::vector<Unigram::Piece> pieces;
  model.segment(text, pieces);
  return pieces;
}

/// Returns the total scores of all segmentations of `text`, starting at `begin`.
std::vector<double> all_sums(const ScoredPieces& pieces, const std::string& text, std::size_t begin,
                             double unknown) {
  if (begin == text.size()) return {0};
  std::vector<double> sums;
  const auto extend = [&](std::size_t end, double score) {
    for (const double rest : all_sums(pieces, text, end, unknown)) sums.push_back(score + rest);
  };
  bool known = false;
  for (const auto& [piece, score] : pieces) {
    if (text.compare(begin, piece.size(), piece) != 0) continue;
    known = known || piece.size() == 1;
    extend(begin + piece.size(), score);
  }
  if (!known) extend(begin + 1, unknown);
  return sums;
}

BOOST_AUTO_TEST_CASE(the_best_segmentations_equal_an_exhaustive_search) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, double> unique = {{"<unk>", -1}};
    double worst = -1;
    for (int i = 0; i < 12; ++i) {
      std::string piece;
      for (unsigned n = 1 + random() % 3; n > 0; --n) piece += "abc"[random() % 3];
      unique[piece] = -0.5 * static_cast<double>(1 + random() % 1000) / 100;
    }
    for (const auto& [piece, score] : unique) worst = std::min(worst, score);
    const ScoredPieces pieces(unique.begin(), unique.end());  // "<unk>" is first
    const Unigram model = model_of(pieces, 0, false);
    std::string text;
    for (unsigned n = random() % 9; n > 0; --n) text += "abcd"[random() % 4];
    std::vector<double> sums = all_sums(pieces, text, 0, worst - 10);
    std::sort(sums.rbegin(), sums.rend());
    const auto segmentations = model.best(text, 20);
    BOOST_TEST(segmentations.size() == std::min<std::size_t>(20, sums.size()));
    for (std::size_t i = 0; i < segmentations.size(); ++i) {
      BOOST_TEST(segmentations[i].score == sums[i], boost::test_tools::tolerance(1e-12));
      std::uint32_t end = 0;
      for (const auto& piece : segmentations[i].pieces) {
        BOOST_TEST(piece.begin == end);
        end = piece.end;
        const std::string part = text.substr(piece.begin, piece.end - piece.begin);
        if (piece.id > 0) BOOST_TEST(pieces[static_cast<std::size_t>(piece.id)].first == part);
      }
      BOOST_TEST(end == text.size());
    }
    std::vector<Unigram::Piece> one;
    model.segment_characters(text, one);
    double sum = 0;
    for (const auto& piece : one)
      sum += piece.id == 0 ? worst - 10 : pieces[static_cast<std::size_t>(piece.id)].second;
    BOOST_TEST(sum == sums.front(), boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(adjacent_unknown_characters_become_one_piece_or_bytes) {
  const ScoredPieces pieces = {{"<unk>", 0}, {"a", -1}, {"b", -2}};
  BOOST_TEST((segment(model_of(pieces, 0, true), "a\u00e9zb") ==
              std::vector<Unigram::Piece>{{1, 0, 1}, {0, 1, 4}, {2, 4, 5}}));
  ScoredPieces with_bytes = pieces;
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte)
    with_bytes.emplace_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", -5);
  BOOST_TEST((segment(model_of(with_bytes, 0, true), "a\u00e9zb") ==
              std::vector<Unigram::Piece>{
                  {1, 0, 1}, {3 + 0xC3, 1, 4}, {3 + 0xA9, 1, 4}, {3 + 'z', 1, 4}, {2, 4, 5}}));
  // Invalid UTF-8 is also treated as unknown, and no byte after the end is read.
  BOOST_TEST(ids(segment(model_of(pieces, 0, false), "a\xE2")) == (std::vector<std::int32_t>{1, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(forced_pieces_take_precedence_and_unused_pieces_are_ignored) {
  using Use = Unigram::Use;
  const std::vector<Unigram::Entry> entries = {
      {"<unk>", 0, Use::none}, {"a", -1}, {"b", -1}, {"ab", -100, Use::forced}, {"c", -3}};
  const Unigram model(entries, {.unknown = 0, .single_precision = true});
  BOOST_TEST(ids(segment(model, "aabb<unk>c")) == (std::vector<std::int32_t>{1, 3, 2, 0, 4}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(invalid_unigram_models_are_rejected) {
  const ScoredPieces pieces = {{"a", -1}};
  BOOST_CHECK_THROW(model_of(pieces, 1, false), ArgumentError);
  BOOST_CHECK_THROW(model_of(ScoredPieces{{"a", NAN}}, 0, false), ArgumentError);
  const Unigram model = model_of(pieces, std::nullopt, false);
  BOOST_TEST(segment(model, "aa").size() == 2U);
  BOOST_CHECK_THROW(segment(model, "ab"), DataError);
  BOOST_CHECK_THROW(model.best("aaaa", std::size_t{1} << 40), DataError);
  BOOST_TEST(model.best("aa", 0).empty());
  BOOST_TEST(segment(model, "").empty());
}

BOOST_AUTO_TEST_CASE(a_trie_finds_all_of_its_strings_and_no_others) {
  std::mt19937 random(7);
  std::map<std::string, std::int32_t> known;
  for (std::int32_t id = 0; id < 20000; ++id) {
    std::string text;
    for (unsigned n = 1 + random() % 6; n > 0; --n)
      text += static_cast<char>(random() % 2 == 0 ? random() % 4 : random() % 256);
    known.emplace(text, id);
  }
  const PieceTrie trie({known.begin(), known.end()});
  for (const auto& [text, id] : known) BOOST_REQUIRE(trie.find(text) == id);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned n = random() % 6; n > 0; --n)
      text += static_cast<char>(random() % 2 == 0 ? random() % 4 : random() % 256);
    const auto it = known.find(text);
    BOOST_REQUIRE(trie.find(text) == (it == known.end() ? PieceTrie::kNone : it->second));
    std::size_t longest = 0;
    for (std::size_t size = 1; size <= text.size(); ++size)
      if (known.contains(text.substr(0, size))) longest = size;
    BOOST_REQUIRE(trie.longest(text).size == longest);
  }
  BOOST_TEST(PieceTrie().find("a") == PieceTrie::kNone);
}

}  // namespace
}  // namespace weft
