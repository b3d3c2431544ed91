// The digest of training data depends on every byte of the data.
#include "weft/models/program/files/data_digest.h"
#include <filesystem>

#include <CLI/CLI.hpp>
#include <boost/test/unit_test.hpp>

#include "weft/models/program/options/options.h"
#include "weft/tests/serialization/file_bytes.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(digests)
namespace {

using testing::TemporaryFolder;
using testing::write_file;

std::string digest(const std::string& path) {
  CLI::App command;
  std::string given;
  command.add_option("--text", given)->type_name(kInputType);
  command.parse(std::vector<std::string>{path, "--text"});  // CLI11 reads them in reverse order
  return data_digest(command, {});
}

BOOST_AUTO_TEST_CASE(changing_any_byte_of_a_file_changes_the_digest) {
  const TemporaryFolder folder;
  const std::string path = folder / "text";
  constexpr std::size_t block = std::size_t{1} << 20;  // the read size
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, block - 1, block, block + 1,
                                 2 * block, 2 * block + 1, 3 * block + 77}) {
    BOOST_TEST_CONTEXT(size << " bytes") {
      std::string text(size, 'a');
      for (std::size_t i = 0; i < size; i += 97) text[i] = static_cast<char>('b' + i % 13);
      write_file(path, text);
      const std::string word = digest(path);
      BOOST_TEST(!word.empty());
      write_file(folder / "copy", text);
      BOOST_TEST(digest(folder / "copy") == word);
      // Change bytes around block boundaries.
      for (std::size_t end = 0; end <= size + block; end += block) {
        for (const std::size_t at : {end - 1, end, end + 1, size - 1}) {
          if (at >= size) continue;
          text[at] ^= 1;
          write_file(path, text);
          BOOST_TEST(digest(path) != word, "byte " << at);
          text[at] ^= 1;
        }
      }
      write_file(path, text + 'a');
      BOOST_TEST(digest(path) != word);
      write_file(path, text.substr(1));
      BOOST_TEST(digest(path) != word);
    }
  }
}

BOOST_AUTO_TEST_CASE(changing_file_names_or_sizes_in_a_folder_changes_the_digest) {
  const TemporaryFolder data, other;
  namespace fs = std::filesystem;
  for (const TemporaryFolder* folder : {&data, &other}) {
    fs::create_directory(*folder / "cats");
    write_file(*folder / "cats/1.png", "xyz");
    write_file(*folder / "2.png", "x");
  }
  const std::string path = data / ".", word = digest(path);
  BOOST_TEST(!word.empty());
  BOOST_TEST(digest(other / ".") == word);
  // The folder may contain files written by the training run itself.
  write_file(data / "run.weft", "model");
  write_file(data / "run.svg", "plot");
  BOOST_TEST(digest(path) == word);
  write_file(data / "2.png", "xx");
  BOOST_TEST(digest(path) != word);
  write_file(data / "2.png", "x");
  BOOST_TEST(digest(path) == word);
  fs::rename(data / "cats/1.png", data / "cats/3.png");
  BOOST_TEST(digest(path) != word);
  fs::rename(data / "cats/3.png", data / "1.png");
  BOOST_TEST(digest(path) != word);
}

BOOST_AUTO_TEST_CASE(unreadable_data_has_no_digest) {
  const TemporaryFolder folder;
  BOOST_TEST(digest(folder / "nothing").empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
