// Short runs of the zoo programs that compare language models and train an HMM tagger.
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "weft/models/zoo/compare/language_row.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
namespace {

int status_of(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Writes sentences that a character model learns quickly.
void write_text(const std::string& path) {
  std::ofstream out(path);
  const char* names[] = {"anna", "bo", "carl"};
  const char* things[] = {"a dog", "the cat", "no bird", "one cow"};
  std::uint32_t state = 1;
  for (int i = 0; i < 400; ++i) {
    state = state * 1664525u + 1013904223u;
    out << names[(state >> 24) % 3] << " sees " << things[(state >> 16) % 4] << ".\n";
  }
}

BOOST_AUTO_TEST_SUITE(zoo_language)

BOOST_AUTO_TEST_CASE(bits_per_character_and_word_match_values_computed_by_hand) {
  const zoo::HeldOut text = zoo::held_out("to be\nor  not", std::vector<std::int32_t>(13));
  BOOST_TEST(text.words == 4);
  BOOST_TEST(zoo::bits_per_character(2 * std::log(2.0)) == 2.0,
             boost::test_tools::tolerance(1e-15));
  // Twelve characters are predicted at 2 bits each, which is 6 bits for each of the four words.
  BOOST_TEST(zoo::bits_per_word(2 * std::log(2.0), text) == 6.0,
             boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(every_language_model_is_trained_and_listed_in_the_table) {
  const testing::TemporaryFolder folder("zoo");
  write_text(folder.path("text"));
  const std::string command = std::string(WEFT_ZOO_LANGUAGE_MODELS) + " " + folder.path("text") +
                              " --steps 60 --parameters 20000 --sample 20 --json " +
                              folder.path("json") + " >" + folder.path("out");
  BOOST_REQUIRE(status_of(command) == 0);
  const std::string output = read_whole_file(folder.path("out"));
  const auto rows = nlohmann::json::parse(read_whole_file(folder.path("json")));
  BOOST_TEST_CONTEXT(output) {
    BOOST_REQUIRE(rows.size() == 10u);
    for (const auto& row : rows) {
      const std::string name = row["model"];
      BOOST_TEST_CONTEXT(name) {
        BOOST_TEST(output.find("| " + name + " | ") != std::string::npos);
        // If 19 characters were equally frequent, each would take 4.2 bits.
        BOOST_TEST(row["bits_per_character_windows"].get<double>() < 4.0);
        BOOST_TEST(row["bits_per_character_whole"].is_null() == (name == "transformer"));
        BOOST_TEST(row["train_characters_per_second"].get<double>() > 0);
        BOOST_TEST(row["generate_microseconds"].size() == 4u);
        BOOST_TEST(row["sample"].get<std::string>().size() > 20u);
        if (name.find("gram") != std::string::npos) continue;
        BOOST_TEST(row["parameters"].get<std::int64_t>() <= 20000);
        BOOST_TEST(row["parameters"].get<std::int64_t>() > 12000);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(comparison_errors_name_the_problem) {
  const testing::TemporaryFolder folder("zoo");
  const std::string program = WEFT_ZOO_LANGUAGE_MODELS, err = " 2>" + folder.path("err");
  BOOST_TEST(status_of(program + err) == 2);
  BOOST_TEST(read_whole_file(folder.path("err")).starts_with("usage: zoo_language_models TEXT"));
  BOOST_TEST(status_of(program + " text --steps -1" + err) == 2);
  write_text(folder.path("text"));
  BOOST_TEST(status_of(program + " " + folder.path("text") + " --only lsmt >/dev/null" + err) == 1);
  BOOST_TEST(read_whole_file(folder.path("err")).find("lsmt") != std::string::npos);
  BOOST_TEST(status_of(program + " " + folder.path("text") + " --only transformer+ >/dev/null" +
                       err) == 1);
  BOOST_TEST(read_whole_file(folder.path("err"))
                 .find("a transformer has no fixed-size state to carry from batch to batch") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_hmm_tagger_clusters_words_that_occur_in_the_same_positions) {
  const testing::TemporaryFolder folder("zoo");
  write_text(folder.path("text"));
  BOOST_REQUIRE(status_of(std::string(WEFT_ZOO_HMM_TAGS) + " " + folder.path("text") + " 5 40 >" +
                          folder.path("out")) == 0);
  const std::string output = read_whole_file(folder.path("out"));
  BOOST_TEST_CONTEXT(output) {
    BOOST_TEST(output.find("2000 words in 400 sentences, vocabulary of 14 words; 5 states") !=
               std::string::npos);
    BOOST_TEST(output.find("iteration  40  log likelihood per word -") != std::string::npos);
    BOOST_TEST(output.find("class  4") != std::string::npos);
    // All names must be in the same class.
    const std::size_t anna = output.find(" anna"), begin = output.rfind('\n', anna) + 1;
    BOOST_REQUIRE(anna != std::string::npos);
    const std::string line = output.substr(begin, output.find('\n', anna) - begin);
    BOOST_TEST(line.find(" bo") != std::string::npos);
    BOOST_TEST(line.find(" carl") != std::string::npos);
  }
  BOOST_TEST(status_of(std::string(WEFT_ZOO_HMM_TAGS) + " 2>" + folder.path("err")) == 2);
  BOOST_TEST(read_whole_file(folder.path("err")) ==
             "usage: zoo_hmm_tags TEXT [STATES [ITERATIONS]]\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
