// Atomic folders: a folder is either replaced completely or not at all.
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "weft/core/error.h"
#include "weft/serialization/files/atomic_folder.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(atomic_folder)
namespace {

namespace fs = std::filesystem;
using testing::read_file;
using testing::says;
using testing::TemporaryFolder;

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

BOOST_AUTO_TEST_CASE(a_folder_becomes_visible_only_when_it_is_complete) {
  const TemporaryFolder files;
  const std::string path = files / "made";
  {
    AtomicFolder folder(path + "/");
    folder.write("a.txt", "one");
    folder.write("inner/b.txt", "two");
    BOOST_TEST(!fs::exists(path));
    folder.commit();
  }
  BOOST_TEST(read_file(path + "/a.txt") == "one");
  BOOST_TEST(read_file(path + "/inner/b.txt") == "two");
  BOOST_TEST(entries(files / "") == 1U);
  // The old folder stays until the new one is complete, and is then completely replaced.
  fs::permissions(path, fs::perms::owner_all);
  {
    AtomicFolder folder(path);
    folder.write("c.txt", "three");
  }
  BOOST_TEST(read_file(path + "/a.txt") == "one");
  BOOST_TEST(entries(files / "") == 1U);
  {
    AtomicFolder folder(path);
    folder.write("c.txt", "three");
    folder.commit();
  }
  BOOST_TEST(entries(path) == 1U);
  BOOST_TEST(read_file(path + "/c.txt") == "three");
  BOOST_TEST((fs::status(path).permissions() == fs::perms::owner_all));
  BOOST_TEST(entries(files / "") == 1U);
}

BOOST_AUTO_TEST_CASE(symbolic_links_are_followed_and_files_are_not_replaced) {
  const TemporaryFolder files;
  fs::create_directory(files / "real");
  fs::create_directory_symlink(files / "real", files / "link");
  AtomicFolder folder(files / "link");
  folder.write("a", "x");
  folder.commit();
  BOOST_TEST(fs::is_symlink(files / "link"));
  BOOST_TEST(read_file(files / "real/a") == "x");
  fs::create_directory_symlink("fresh/", files / "dangling");
  AtomicFolder made(files / "dangling");
  made.write("a", "y");
  made.commit();
  BOOST_TEST(read_file(files / "fresh/a") == "y");
  std::ofstream(files / "file") << "mine";
  BOOST_CHECK_EXCEPTION(AtomicFolder(files / "file"), IoError,
                        says("cannot write the folder \"" + files / "file"));
  BOOST_CHECK_EXCEPTION(AtomicFolder(files / "none/made"), IoError,
                        says("cannot create the folder"));
  BOOST_CHECK_EXCEPTION(AtomicFolder(""), IoError, says("cannot write the folder"));
}

BOOST_AUTO_TEST_CASE(only_temporary_folders_of_killed_processes_are_removed) {
  const TemporaryFolder files;
  const std::string stale = files / "made.tmp-1-0", locked = files / "made.tmp-1-1",
                    unrelated = files / "made.tmp-notes";
  for (const std::string& folder : {stale, locked, unrelated}) {
    fs::create_directory(folder);
    std::ofstream(folder + "/part") << "x";
  }
  const int fd = ::open(locked.c_str(), O_RDONLY | O_DIRECTORY);
  BOOST_TEST_REQUIRE(::flock(fd, LOCK_EX) == 0);
  AtomicFolder folder(files / "made");
  BOOST_TEST(!fs::exists(stale));
  BOOST_TEST(fs::exists(locked + "/part"));
  BOOST_TEST(fs::exists(unrelated + "/part"));
  ::close(fd);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
