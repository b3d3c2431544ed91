#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/character.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(character)
namespace {

using testing::says;

BOOST_AUTO_TEST_CASE(the_vocabulary_is_sorted_and_texts_round_trip) {
  const auto tokenizer = CharacterTokenizer::from_text("bad é\n日本 𝄞 cab");
  BOOST_TEST(tokenizer.characters() == "\n abcdé日本𝄞");
  BOOST_TEST(tokenizer.vocab_size() == 10);
  const auto ids = tokenizer.encode("cab\né𝄞");
  BOOST_TEST(ids == (std::vector<std::int32_t>{4, 2, 3, 0, 6, 9}),
             boost::test_tools::per_element());
  BOOST_TEST(tokenizer.decode(ids) == "cab\né𝄞");
  BOOST_TEST(tokenizer.encode("").empty());
}

BOOST_AUTO_TEST_CASE(character_tokenizers_round_trip_through_json) {
  const auto tokenizer = CharacterTokenizer::from_text("\"quotes\\ and 日本\t\n");
  const auto again = CharacterTokenizer::from_bytes(tokenizer.to_bytes());
  BOOST_TEST(again.characters() == tokenizer.characters());
  BOOST_CHECK_EXCEPTION(CharacterTokenizer::from_bytes("{\"type\": \"bpe\"}"), FormatError,
                        says("not a character tokenizer"));
  BOOST_CHECK_EXCEPTION(CharacterTokenizer::from_bytes("[]"), FormatError,
                        says("not a character tokenizer"));
  BOOST_CHECK_EXCEPTION(
      CharacterTokenizer::from_bytes(R"({"type": "character", "characters": "ba"})"), FormatError,
      says("distinct and in ascending order"));
}

BOOST_AUTO_TEST_CASE(errors_name_unknown_characters_and_ids) {
  const auto tokenizer = CharacterTokenizer::from_text("héllo");
  BOOST_CHECK_EXCEPTION(
      tokenizer.encode("hélü"), DataError,
      says("character 'ü' (U+00FC) at position 3 is not in the vocabulary (4 characters"));
  BOOST_CHECK_EXCEPTION(tokenizer.encode("h\n"), DataError,
                        says("character U+000A at position 1 is not in the vocabulary"));
  const std::int32_t wrong[] = {0, 4};
  BOOST_CHECK_EXCEPTION(tokenizer.decode(wrong), DataError,
                        says("token id 4 is outside the vocabulary [0, 4)"));
  BOOST_CHECK_EXCEPTION(CharacterTokenizer::from_text(""), ArgumentError,
                        says("cannot build a vocabulary from an empty text"));
}

BOOST_AUTO_TEST_CASE(errors_state_the_offset_of_invalid_utf8) {
  const std::pair<std::string, std::string> cases[] = {
      {"ab\xff", "an invalid first byte at byte 2 (0xff)"},
      {"a\x80", "an invalid first byte at byte 1 (0x80)"},
      {"a\xc3", "a truncated character at byte 1 (0xc3)"},
      {"\xe6\x97z", "an incomplete character at byte 0 (0xe6)"},
      {"\xe0\x80\x80", "an overlong character at byte 0 (0xe0)"},
      {"\xed\xa0\x80", "a surrogate at byte 0 (0xed)"},
      {"\xf4\x90\x80\x80", "a character beyond U+10FFFF at byte 0 (0xf4)"},
  };
  for (const auto& entry : cases) {
    BOOST_CHECK_EXCEPTION(CharacterTokenizer::from_text(entry.first), FormatError,
                          says(entry.second));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
