// Pairs of example sentences and definitions from WordNet glosses.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "weft/models/zoo/data/gloss_pairs.h"
#include "weft/tests/support/text_files.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(zoo_glosses)
namespace {

using Pairs = std::vector<RetrievalPair>;

BOOST_AUTO_TEST_CASE(every_example_is_paired_with_the_definition) {
  BOOST_TEST(
      (gloss_pairs({"winterize", "prepare for winter; \"winterize cars\"; \"winterize houses\""})
           .lines == Pairs{{"winterize cars", "prepare for winter", {}},
                           {"winterize houses", "prepare for winter", {}}}));
  BOOST_TEST(gloss_pairs({"entity", "that which exists"}).lines.empty());
  BOOST_TEST(gloss_pairs({"odd", "\"only an example\""}).lines.empty());
  BOOST_TEST(gloss_pairs({"odd", ""}).lines.empty());
  // Some glosses lack a quotation mark at the end, or have empty examples.
  BOOST_TEST((gloss_pairs({"a", "one: \"two\"; \"\"; \"three"}).lines ==
              Pairs{{"two", "one", {}}, {"three", "one", {}}}));
}

BOOST_AUTO_TEST_CASE(pairs_of_all_files_of_a_folder_are_read) {
  const TextFiles files("glosses");
  const auto line = [](const char* word, const char* gloss) {
    return std::string("00000001 00 n 01 ") + word + " 0 000 | " + gloss + "\n";
  };
  files.write("data.noun", "  1 licence\n" + line("cat", "an animal; \"a cat purrs\""));
  files.write("data.verb", line("run", "move fast; \"she runs\"; \"he ran\""));
  files.write("data.adj", line("red", "of a colour"));
  files.write("data.adv", "");
  const RetrievalPairs pairs = read_gloss_pairs(files.path(""));
  BOOST_TEST((pairs.lines == Pairs{{"a cat purrs", "an animal", {}},
                                   {"she runs", "move fast", {}},
                                   {"he ran", "move fast", {}}}));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::zoo
