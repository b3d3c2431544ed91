// The command `weft vectors`: training, queries and evaluation of word embeddings.
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "weft/models/vectors/word2vec_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/vectors/texts.h"

namespace weft {
namespace {

std::string topics() {
  std::string text;
  for (const std::string& sentence : testing::two_topics(1200, 1)) text += sentence + "\n";
  return text;
}

constexpr const char* kPairs = "ship sail 9\nrose leaf 8\nShip rose 1\nsea soil 2\nship absent 5\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(vectors_command)

BOOST_AUTO_TEST_CASE(every_embedding_model_is_trained_saved_and_evaluated) {
  const Shell weft;
  const std::string text = weft.write("topics.txt", topics());
  const std::string pairs = weft.write("pairs.txt", kPairs);
  const std::string out = weft.path("words.vec");
  for (const std::string model :
       {"skip-gram --rate 0.05", "cbow --rate 0.3", "fasttext --buckets 500 --longest 4",
        "glove --most 5", "lsa", "lsa --matrix tf-idf --power 1"}) {
    BOOST_TEST_CONTEXT(model) {
      const Outcome trained =
          weft("vectors train --text " + text + " --width 8 --min-count 1 --out " + out +
               " --pairs " + pairs + " --model " + model);
      BOOST_TEST(trained.code == 0, trained.err);
      BOOST_TEST(contains(trained.out, "20 different words"), trained.out);
      BOOST_TEST(contains(trained.out, "Spearman  "));
      BOOST_TEST(contains(trained.out, " on 4 of 5 pairs of "));
      BOOST_TEST(read_word_vectors(out).width() == 8);
      const Outcome measured = weft("vectors evaluate " + out + " --pairs " + pairs);
      BOOST_TEST(measured.code == 0, measured.err);
      BOOST_TEST(contains(trained.out, measured.out));
    }
  }
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_threads_or_file_formats) {
  const Shell weft;
  const std::string text = weft.write("topics.txt", topics());
  const std::string train = "vectors train --epochs 2 --width 8 --text " + text + " --out ";
  BOOST_TEST(weft(train + weft.path("one") + " --threads 1").code == 0);
  BOOST_TEST(weft(train + weft.path("two") + " --threads 2 --binary").code == 0);
  const WordVectors one = read_word_vectors(weft.path("one"));
  const WordVectors two = read_word_vectors(weft.path("two"));
  BOOST_CHECK((one.words() == two.words()));
  BOOST_TEST(bitwise_equal(one.vectors(), two.vectors()));
}

BOOST_AUTO_TEST_CASE(nearest_words_and_analogies_are_printed) {
  const Shell weft;
  const std::string file =
      weft.write("words", "4 2\nman 1 0\nwoman 1 1\nking 2 0.2\nqueen 2 1.3\n");
  const Outcome near = weft("vectors nearest " + file + " king Queen --top 2");
  BOOST_TEST(near.code == 0, near.err);
  BOOST_TEST(near.out ==
             "king\n  0.9950  man\n  0.8885  queen\nQueen\n  0.9782  woman\n  0.8885  king\n");
  const Outcome json = weft("vectors nearest " + file + " man --top 1 --json");
  BOOST_TEST(json.out ==
             "{\"word\":\"man\",\"nearest\":[{\"word\":\"king\",\"cosine\":0.995037}]}\n");
  const Outcome analogy = weft("vectors analogy " + file + " man king woman --top 1");
  BOOST_TEST(contains(analogy.out, "man is to king as woman is to\n"));
  BOOST_TEST(contains(analogy.out, "queen"));
  check_error(weft("vectors analogy " + file + " man king"), 2, "an analogy needs three words");
  check_error(weft("vectors nearest " + file + " kong"), 1,
              "there is no embedding of 'kong' (did you mean 'king'?)");
  check_error(weft("vectors nearest " + weft.path("text.txt") + " king"), 1,
              "the first line of a word embedding file");
}

BOOST_AUTO_TEST_CASE(options_that_would_be_ignored_are_rejected) {
  const Shell weft;
  const std::string train = "vectors train --out " + weft.path("words") + " ";
  const std::string folder =
      std::filesystem::path(weft.write("texts/a.txt", "a")).parent_path().string();
  const std::string text = "--text " + weft.path("text.txt") + " ";
  check_error(weft(train), 2, "give either --text FILE... or --wordnet FOLDER");
  check_error(weft(train + text + "--wordnet ."), 2, "give either --text FILE");
  check_error(weft(train + text + "--headwords"), 2, "--headwords needs --wordnet");
  check_error(weft(train + text + "--model glove --negatives 3"), 2,
              "--negatives applies to skip-gram, cbow, fasttext, not to glove");
  check_error(weft(train + text + "--buckets 3"), 2,
              "--buckets applies to fasttext, not to skip-gram");
  check_error(weft(train + text + "--model lsa --epochs 3"), 2, "not to lsa");
  check_error(weft(train + text + "--model lsa --matrix tf-idf --window 3"), 2,
              "--matrix tf-idf, which counts the words of whole sentences");
  check_error(weft(train + text + "--model fasttext --shortest 7"), 2,
              "--shortest 7 is greater than --longest 6");
  check_error(weft(train + text + "--min-count 100000"), 1, "occurs 100000 times or more");
  check_error(weft(train + text + "--model lsa --width 1000"), 1, "allows ranks from 1 to ");
  check_error(weft(train + "--wordnet " + folder), 1, "the Debian package wordnet-base");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
