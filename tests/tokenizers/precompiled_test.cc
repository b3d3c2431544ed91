// Compiled character maps: the correct rules are found, and damaged maps are rejected and never
// read out of bounds.
#include "weft/models/text/tokenizers/normalizers/precompiled.h"

#include <boost/test/unit_test.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compiled_map.h"
#include "weft/core/error.h"
#include "weft/models/text/tokenizers/normalizers/precompiled_map.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/graphemes.h"

namespace weft {
namespace {

using testing::append_number;
using testing::compiled_map;

BOOST_AUTO_TEST_CASE(the_longest_and_the_shortest_rule_are_found) {
  const PrecompiledMap map = PrecompiledMap::parse(
      compiled_map({{"a", "A"}, {"ab", ""}, {"abc", "xyz"}, {"\u00e9", "e"}, {"q\u0301", "Q"}}));
  BOOST_TEST(map.longest("abcd")->size == 3U);
  BOOST_TEST(map.longest("abcd")->replacement == "xyz");
  BOOST_TEST(map.longest("abd")->size == 2U);
  BOOST_TEST(map.longest("abd")->replacement == "");
  BOOST_TEST(*map.shortest("abcd") == "A");
  BOOST_TEST(map.longest("\u00e9t")->size == 2U);
  BOOST_TEST(!map.longest("b"));
  BOOST_TEST(!map.longest("q"));
  BOOST_TEST(!map.longest(""));
  BOOST_TEST(!map.shortest("q"));
  BOOST_TEST(map.longest("q\u0301")->replacement == "Q");
  BOOST_TEST(!map.keeps_ascii('a'));
  BOOST_TEST(map.keeps_ascii('b'));
  BOOST_TEST(map.keeps_ascii('q'));
  BOOST_TEST(!map.keeps_ascii(0xC3));
}

BOOST_AUTO_TEST_CASE(a_map_without_rules_does_not_change_text) {
  const PrecompiledMap map;
  BOOST_TEST(map.empty());
  BOOST_TEST(!map.longest("a"));
  BOOST_TEST(map.keeps_ascii('a'));
}

BOOST_AUTO_TEST_CASE(invalid_compiled_maps_are_rejected) {
  const auto check_rejected = [](const std::string& blob, const std::string& part) {
    BOOST_CHECK_EXCEPTION(PrecompiledMap::parse(blob), FormatError, [&](const FormatError& e) {
      const bool found = std::string(e.what()).find(part) != std::string::npos;
      if (!found) BOOST_TEST_MESSAGE(e.what());
      return found;
    });
  };
  check_rejected("", "it has only 0 bytes");
  check_rejected(std::string("\xFF\xFF\xFF\x7F abc", 8),
                 "the size of its double array is 2147483647 bytes, but 4 bytes follow");
  check_rejected(std::string(4, '\0') + "abcd", "the size of its double array is 0 bytes");
  std::string far;  // a leaf beyond the array
  append_number(far, 4);
  append_number(far, 1U << 8 | 77U << 10);
  check_rejected(far + "abc", "unit 0 of its double array has no leaf");
  std::string lost = compiled_map({{"a", "b"}});
  lost.resize(lost.size() - 2);  // removes the replacement
  check_rejected(lost, "unit 353 of its double array refers to byte 0");
  check_rejected(compiled_map({{"a", "\xC3"}}), "its replacements are not UTF-8");
}

/// Provides the fields of a Precompiled normaliser, which has a single blob.
struct OneBlob {
  std::string bytes;
  void required(const char*, normalizers::Base64& value) const { value.bytes = bytes; }
};

/// The reference applies the shortest rule to each grapheme with fewer than six bytes, and
/// otherwise to each character.
std::string by_graphemes(const PrecompiledMap& map, const std::string& text) {
  std::string result;
  Graphemes().visit(text, [&](std::string_view grapheme) {
    const auto whole = grapheme.size() < 6 ? map.shortest(grapheme) : std::nullopt;
    if (whole) {
      result += *whole;
      return;
    }
    for (std::size_t at = 0; at < grapheme.size();) {
      const std::string_view c = grapheme.substr(at, character_size(grapheme[at]));
      at += c.size();
      result += map.shortest(c).value_or(c);
    }
  });
  return result;
}

BOOST_AUTO_TEST_CASE(rules_apply_to_graphemes_in_random_texts) {
  const std::string blob = compiled_map({{"e\u0301", "\u00e9"},
                                         {"\n", " "},
                                         {"\r", " "},
                                         {"\uff21", "A"},
                                         {"\u304b\u3099", "\u304c"},
                                         {"x", ""},
                                         {"\u0300", "`"}});
  const PrecompiledMap map = PrecompiledMap::parse(blob);
  normalizers::Precompiled normaliser;
  OneBlob fields{blob};
  normaliser.describe(fields);
  normaliser.prepare();
  // Combining marks, line ends, emoji with joiners, flags, Hangul jamo, and a prefixed number sign.
  const std::vector<std::string> parts = {
      "e",      "\u0301", "\u0300", "\r",     "\n",         "x",          "a",      "\uff21",
      "\u304b", "\u3099", "\u200d", "\u6f22", "\U0001F469", "\U0001F1E9", "\u1100", "\u1161",
      "\uac00", "\u0600", "\u0915", "\u094d", "1",          " ",          "\u00ad"};
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned n = random() % 12; n > 0; --n) text += parts[random() % parts.size()];
    SplitText parted;
    parted.text.assign(text);
    parted.parts = {{0, parted.text.size(), -1}};
    normaliser.normalise(parted);
    std::string found;
    for (const TextPart& part : parted.parts) found += parted.view(part);
    if (found != by_graphemes(map, text)) BOOST_TEST(found == by_graphemes(map, text), text);
  }
}

BOOST_AUTO_TEST_CASE(damaged_maps_are_rejected_or_handled_safely) {
  const std::string whole = compiled_map({{"a", "A"}, {"ab", "\u00e9"}, {"b", "long one"}});
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    try {
      const PrecompiledMap map = PrecompiledMap::parse(damaged);
      for (const std::string text : {"ab", "ba", "b\xFF", "aaa", "\u00e9"}) {
        if (const auto rule = map.longest(text)) BOOST_TEST(rule->size <= text.size());
        map.shortest(text);
      }
    } catch (const FormatError&) {
    }
  }
}

}  // namespace
}  // namespace weft
