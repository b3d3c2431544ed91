#include "weft/models/vectors/word2vec_file.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/core/error.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

std::string floats(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(word2vec_files)

BOOST_AUTO_TEST_CASE(both_formats_are_lossless) {
  const TemporaryFolder folder("vectors");
  std::vector<std::string> words;
  for (int i = 0; i < 700; ++i) words.push_back("w\xc3\xb6rd" + std::to_string(i));
  Tensor numbers = sample_uniform({700, 37}, 1, -1e-3, 1e3);
  numbers.mutable_data<float>()[5] = 1e-42f;
  numbers.mutable_data<float>()[6] = -0.0f;
  const WordVectors vectors(words, numbers);
  for (const VectorFormat format : {VectorFormat::text, VectorFormat::binary}) {
    const std::string path = folder.path("vectors");
    write_word_vectors(path, vectors, format);
    const WordVectors back = read_word_vectors(path);
    BOOST_CHECK((back.words() == words));
    BOOST_TEST(bitwise_equal(back.vectors(), numbers));
    BOOST_TEST(is_word_vectors(path));
  }
}

BOOST_AUTO_TEST_CASE(files_written_by_other_programs_can_be_read) {
  const TemporaryFolder folder("vectors");
  const auto check_reads = [&](const std::string& bytes) {
    const WordVectors v = read_word_vectors(folder.write("file", bytes));
    BOOST_CHECK((v.words() == std::vector<std::string>{"</s>", "the"}));
    BOOST_CHECK((v.vectors().to_vector<float>() == std::vector<float>{0.5, -1, 2, 3e-5f}));
  };
  check_reads("2 2\n</s> 0.500000 -1.000000 \nthe 2.000000 0.00003 \n");  // written by word2vec
  check_reads("2 2\n</s> 0.5 -1\nthe 2 3e-05");
  check_reads("2 2\r\n</s> 0.5 -1\r\nthe 2 3e-05\r\n");
  const std::string first = floats({0.5, -1}), second = floats({2, 3e-5f});
  check_reads("2 2\n</s> " + first + "\nthe " + second + "\n");  // written by word2vec
  check_reads("2 2\n</s> " + first + "the " + second);           // without line breaks
}

BOOST_AUTO_TEST_CASE(errors_for_broken_files_name_the_line) {
  const TemporaryFolder folder("vectors");
  const auto broken = [&](const std::string& bytes, const std::string& why) {
    const std::string path = folder.write("file", bytes);
    check_error<FormatError>([&] { read_word_vectors(path); }, {path, why});
  };
  const std::string head =
      "the first line of a word embedding file must contain the number of words and the width";
  for (const char* bytes : {"", "2\n", "2 x\n", "0 2\n", "-1 2\n", "2 2 2\n", "2 99999999999\n",
                            "a text without an end", "99999999999999999999 2\n"})
    broken(bytes, head);
  broken("2 2\na 1 2\n", ":3: expected word 2 of 2");
  broken("2 2\na 1 2\nb 1\n", ":3: expected a word and 2 finite numbers, but number 2 is invalid");
  broken("2 2\na 1 2\nb 1 nan\n", "number 2 is invalid");
  broken("2 2\na 1 2\nb 1 2 3\n", ":3: the line has more than 2 numbers");
  broken("1 2\na 1 2\nb 1 2\n", "the file continues after the 1 words");
  broken("2 2\na 1 2\na 1 2\n", "the word 'a' occurs twice");
  const std::string one = floats({1, 2});
  broken("2 2\na " + one + "b " + one.substr(1), "the file ends within the numbers of word 2 of 2");
  broken("2 2\na " + one, "expected word 2 of 2 and a space");
  broken("1 2\na " + one + "bcd", "the file continues after the 1 words");
  broken("1 2\na " + floats({1, HUGE_VALF}), "contains NaN or infinity");
  // No memory is allocated for data that is missing.
  broken("1000000000000 16000000\na 1 2\n",
         ":2: expected a word and 16000000 finite numbers, but number 3 is invalid");
  broken("1 2\na 1 2 3\n", ":2: the line has more than 2 numbers");
  broken("1000000000000 16000000\na \x01\x02", "the file ends within the numbers of word 1");
  BOOST_TEST(!is_word_vectors(folder.write("file", "some text\nand more\n")));
  BOOST_TEST(!is_word_vectors(folder.path("missing")));
  BOOST_TEST(!is_word_vectors(folder.write("file", "3 2\n1.0 2.0\n3.0 4.0\n5.0 6.0\n")));
  BOOST_TEST(!is_word_vectors(folder.write("file", "2 3\nwords that people wrote\n")));
  check_error<IoError>([&] { read_word_vectors(folder.path("missing")); }, {"missing"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
