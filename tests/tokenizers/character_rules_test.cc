// The character normalisation rules, compared with SentencePiece.
#include "weft/models/text/tokenizers/normalizers/character_rules.h"

#include <boost/test/unit_test.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "goldens.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/normalizers/sentence_piece_normalizer.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

constexpr const char* kNames[] = {"nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"};

PrecompiledMap map_of(const std::string& name) {
  return PrecompiledMap::parse(compile(character_rules(name)));
}

BOOST_AUTO_TEST_CASE(character_rules_give_the_same_normalisation_as_the_reference) {
  if (!testing::have_token_goldens()) return;
  for (const std::string name : kNames) {
    const SentencePieceNormalizer normalizer({.dummy_prefix = false, .escape_whitespace = false},
                                             map_of(name), {});
    testing::GoldenCount count("sp-normalizers " + name);
    for (const nlohmann::json& row : testing::golden_rows("sp-normalizers.jsonl")) {
      const std::string& text = testing::golden_strings().at(row.at("id")).bytes;
      const std::string golden = row.value(name, text), found = normalizer.normalise(text);
      count.add("string " + row.at("id").dump(),
                found == golden ? std::string() : "'" + found + "' instead of '" + golden + "'");
    }
  }
}

BOOST_AUTO_TEST_CASE(unicode_rules_match_published_models) {
  const auto file = testing::token_file("t5-base/spiece.model");
  if (file.empty()) return;
  const auto model = SentencePieceTokenizer::from_bytes(testing::golden_bytes(file));
  const PrecompiledMap theirs = PrecompiledMap::parse(model.model().normalizer.compiled_map);
  // Characters were added to Unicode after these models were created, so Weft has a few more rules.
  int missing = 0, rules = 0;
  for (const auto& [from, to] : character_rules("nmt_nfkc")) {
    const std::string text = utf8(from), becomes = utf8(to);
    const auto rule = theirs.longest(text);
    const bool same = rule && rule->size == text.size() && rule->replacement == becomes;
    ++rules;
    missing += same ? 0 : 1;
  }
  std::cout << "rules: " << rules << ", not in the model: " << missing << "\n";
  BOOST_TEST(missing < rules / 100);
}

BOOST_AUTO_TEST_CASE(compiled_rules_round_trip) {
  const CharacterRules rules = {
      {U"a", U"b"}, {U"ab", U""}, {U"\u00e9x", U"long one"}, {U"z", U"b"}};
  const PrecompiledMap map = PrecompiledMap::parse(compile(rules));
  BOOST_TEST(map.longest("abc")->size == 2U);
  BOOST_TEST(map.longest("abc")->replacement == "");
  BOOST_TEST(map.longest("ac")->replacement == "b");
  BOOST_TEST(map.longest("\u00e9xy")->replacement == "long one");
  BOOST_TEST(!map.longest("\u00e9y"));
  BOOST_TEST(!map.longest("b"));
  BOOST_TEST(compile({}).empty());
  BOOST_CHECK_THROW(compile({{U"", U"b"}}), ArgumentError);
  BOOST_CHECK_THROW(character_rules("nfd"), ArgumentError);
}

}  // namespace
}  // namespace weft
