#include "weft/models/vectors/word_text.h"

#include <boost/test/unit_test.hpp>

#include "texts.h"
#include "weft/core/error.h"
#include "weft/models/vectors/wordnet.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
BOOST_AUTO_TEST_SUITE(word_texts)

BOOST_AUTO_TEST_CASE(words_are_numbered_by_frequency) {
  const WordText text = text_of({"The cat, the dog.", "", "a cat; the END 3"});
  BOOST_CHECK(
      (text.counts.words() == std::vector<std::string>{"the", "cat", "3", "a", "dog", "end"}));
  BOOST_TEST(text.counts.count(0) == 3);
  BOOST_TEST(text.counts.count(1) == 2);
  BOOST_TEST(text.counts.find("dog") == 4);
  BOOST_TEST(text.counts.find("The") == -1);
  BOOST_CHECK((text.words == std::vector<std::int32_t>{0, 1, 0, 4, 3, 1, 0, 5, 2}));
  BOOST_CHECK((text.ends == std::vector<std::int64_t>{4, 9}));
  BOOST_TEST(text.rare == 0);
}

BOOST_AUTO_TEST_CASE(rare_words_and_sentences_with_only_rare_words_are_dropped) {
  const WordText text = text_of({"a b a", "c", "b"}, 2);
  BOOST_CHECK((text.counts.words() == std::vector<std::string>{"a", "b"}));
  BOOST_CHECK((text.words == std::vector<std::int32_t>{0, 1, 0, 1}));
  BOOST_CHECK((text.ends == std::vector<std::int64_t>{3, 4}));
  BOOST_TEST(text.rare == 1);
  check_error<DataError>([] { text_of({"a b c"}, 2); },
                         {"none of the text's 3 words occurs 2 times or more"});
  check_error<DataError>([] { text_of({"...", ""}); }, {"the text has no words"});
  check_error<ArgumentError>(
      [] {
        WordCounts({{"a", 1}, {"a", 2}});
      },
      {"the word 'a' occurs twice"});
}

BOOST_AUTO_TEST_CASE(words_and_glosses_are_read_from_wordnet) {
  const TemporaryFolder folder("wordnet");
  const std::string licence = "  1 This software and database\n";
  folder.write("data.noun", licence +
                                "00001740 03 n 02 entity 0 living_thing 1 001 ~ 00001930 n 0000 | "
                                "that which is; \"an entity\"  \n");
  folder.write("data.verb", licence + "00002000 29 v 01 breathe 0 000 | draw air in  \n");
  folder.write("data.adj", licence + "00003000 00 s 01 galore(ip) 0 000 | in abundance  \n");
  folder.write("data.adv", licence);
  std::vector<std::string> found;
  for_each_synset(folder.path(), [&](const WordNetEntry& entry) {
    found.push_back(entry.words + ": " + entry.gloss);
  });
  BOOST_CHECK(
      (found == std::vector<std::string>{"entity living thing: that which is; \"an entity\"",
                                         "breathe: draw air in", "galore: in abundance"}));
}

BOOST_AUTO_TEST_CASE(errors_name_missing_or_broken_wordnet_files) {
  const auto nothing = [](const WordNetEntry&) {};
  const TemporaryFolder folder("wordnet");
  check_error<IoError>([&] { for_each_synset(folder.path(), nothing); },
                       {"has no data.noun", "the Debian package wordnet-base", "apt install"});
  folder.write("data.noun", "  licence\n00001740 03 n 02 entity 0\n");
  check_error<FormatError>([&] { for_each_synset(folder.path(), nothing); },
                           {"data.noun:2: not a synset with a gloss"});
  folder.write("data.noun", "00001740 03 n 0x entity 0 000 | what is\n");
  check_error<FormatError>([&] { for_each_synset(folder.path(), nothing); }, {"data.noun:1"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
