// Split patterns: hand-written functions match PCRE2, and patterns with a different meaning in
// PCRE2 are rejected.
#include <unicode/uchar.h>

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/pre_tokenizers/known_patterns.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/regex.h"

namespace weft {
namespace {

using Bounds = std::vector<std::pair<std::size_t, std::size_t>>;

Bounds by_hand(const KnownPattern& known, const std::string& text) {
  Bounds bounds;
  known.cut(text, [&](std::size_t begin, std::size_t end) { bounds.emplace_back(begin, end); });
  return bounds;
}

Bounds by_regex(const Regex& regex, const std::string& text) {
  Bounds bounds;
  for (Regex::Matches match(regex, text); match.next();)
    bounds.emplace_back(match.begin(), match.end());
  return bounds;
}

/// Returns true for the characters in Unicode 14, which both libraries support.
bool is_supported_by_both(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] <= 14 && !(c >= 0xD800 && c < 0xE000);
}

BOOST_AUTO_TEST_CASE(hand_written_patterns_match_pcre2_for_every_character) {
  for (const KnownPattern* known = begin_known_patterns(); known != end_known_patterns(); ++known) {
    const Regex regex{std::string(known->pattern)};
    int wrong = 0;
    std::string text;
    for (char32_t c = 1; c < 0x110000; ++c) {
      if (!is_supported_by_both(c)) continue;
      text = "a";
      for (const char* beside : {"", "1 ", "'", "\n", ". a "}) {
        append_utf8(text, c);
        text += beside;
      }
      if (by_hand(*known, text) == by_regex(regex, text)) continue;
      if (wrong++ == 0) BOOST_ERROR(known->pattern << " differs for U+" << std::hex << +c);
    }
    BOOST_TEST(wrong == 0);
  }
}

BOOST_AUTO_TEST_CASE(hand_written_patterns_match_pcre2_for_random_texts) {
  const std::vector<std::string> snippets = {
      "a",       "B",  "é",   "日",     "1",      "2", "٣",     " ",   "  ",
      "\n",      "\r", "\t",  "\u00A0", "\u3000", "'", "'s",    "'LL", "'ve",
      "'\u017F", "!",  "...", "\u0301", "𝄞",      "½", "\u180E"};
  std::mt19937 random(7);
  for (const KnownPattern* known = begin_known_patterns(); known != end_known_patterns(); ++known) {
    const Regex regex{std::string(known->pattern)};
    int wrong = 0;
    for (int i = 0; i < 20000; ++i) {
      std::string text;
      for (unsigned count = random() % 12; count > 0; --count)
        text += snippets[random() % snippets.size()];
      if (by_hand(*known, text) == by_regex(regex, text)) continue;
      if (wrong++ == 0) BOOST_ERROR(known->pattern << " differs for '" << text << "'");
    }
    BOOST_TEST(wrong == 0);
  }
}

Bounds matches(const std::string& pattern, const std::string& text) {
  return by_regex(Regex(pattern), text);
}

BOOST_AUTO_TEST_CASE(patterns_have_the_meaning_defined_by_tokenizer_json) {
  BOOST_TEST((matches("\\s", "a\u180E\u0085b") == Bounds{{4, 6}}));  // U+180E is not white space
  // Combining marks are part of words.
  BOOST_TEST((matches("\\w+", "e\u0301_-1") == Bounds{{0, 4}, {5, 6}}));
  BOOST_TEST((matches("[^(\\s|[.,!])]+", "ab .c") == Bounds{{0, 2}, {4, 5}}));
  BOOST_TEST((matches("x*", "axb") == Bounds{{0, 0}, {1, 2}, {3, 3}}));
  BOOST_TEST((matches("^b$", "a\nb") == Bounds{{2, 3}}));
  BOOST_TEST((matches(quoted_for_regex("a.b[\n"), "axb[ a.b[\n") == Bounds{{5, 10}}));
  for (const char* wrong : {"(", "[a", "[a&&b]", "[a[^b]]", "\\C", "a\\"})
    BOOST_CHECK_THROW(Regex{wrong}, FormatError);
  BOOST_CHECK_THROW(Regex{std::string(65'000, '[')}, FormatError);
  BOOST_CHECK_THROW(Regex{std::string(65'000, '(')}, FormatError);
}

}  // namespace
}  // namespace weft
