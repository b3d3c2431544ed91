#include "weft/core/read_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "weft/core/tensor.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(read_log)
namespace {

BOOST_AUTO_TEST_CASE(a_log_contains_the_files_that_are_opened_while_it_records) {
  const testing::TemporaryFolder folder("reads");
  const std::string mapped = folder.write("mapped", "1"), read = folder.write("read", "2"),
                    before = folder.write("before", "3"), stopped = folder.write("stopped", "4");
  std::filesystem::create_symlink(read, folder.path("link"));
  read_whole_file(before);
  ReadLog log;
  MappedFile::open(mapped);
  read_whole_file(folder.path("link"));
  read_whole_file(read);
  log.stop();
  read_whole_file(stopped);
  {
    const ReadLog other;
    read_whole_file(before);
    BOOST_TEST(other.files().size() == 1U);
  }
  const std::vector<ReadLog::File> files = log.files();
  BOOST_TEST_REQUIRE(files.size() == 2U);
  for (const std::string& path : {mapped, read}) {
    struct stat status {};
    BOOST_TEST(::stat(path.c_str(), &status) == 0);
    BOOST_TEST(std::any_of(files.begin(), files.end(), [&](const ReadLog::File& file) {
      return file.device == status.st_dev && file.inode == status.st_ino;
    }));
  }
  log.resume();
  read_whole_file(stopped);
  BOOST_TEST(log.files().size() == 3U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
