#include "weft/serialization/files/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::read_file;
using testing::says;
using testing::TemporaryFolder;
using testing::write_file;

void save(const std::string& path, const std::string& bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(atomic_file)

BOOST_AUTO_TEST_CASE(the_next_save_removes_the_temporary_files_of_a_killed_process) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft";
  save(path, "old");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(path);
    file.write("half", 4);
    ::raise(SIGKILL);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(folder.files() == 2u);
  BOOST_TEST(read_file(path) == "old");
  save(path, "new");
  BOOST_TEST(read_file(path) == "new");
  BOOST_TEST(folder.files() == 1u);
}

BOOST_AUTO_TEST_CASE(the_temporary_file_of_a_running_process_is_kept) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft";
  AtomicFile first(path);
  first.write("first", 5);
  save(path, "second");
  BOOST_TEST(read_file(path) == "second");
  first.commit();
  BOOST_TEST(read_file(path) == "first");
  BOOST_TEST(folder.files() == 1u);
}

BOOST_AUTO_TEST_CASE(files_that_only_resemble_temporary_files_are_kept) {
  const TemporaryFolder folder;
  for (const char* name : {"m.weft.tmp-1-x", "m.weft.tmp-", "m.weft.tmp-12", "n.weft.tmp-1-0"})
    write_file(folder / name, "mine");
  write_file(folder / "m.weft.tmp-1-0", "a killed saver's");
  save(folder / "m.weft", "new");
  BOOST_TEST(folder.files() == 5u);
}

BOOST_AUTO_TEST_CASE(the_mode_of_a_replaced_file_is_kept) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft";
  const mode_t mask = ::umask(022);
  save(path, "a");
  ::umask(mask);
  BOOST_TEST(mode_of(path) == 0644u);
  for (const mode_t mode : {0600u, 0640u, 0755u}) {
    BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
    save(path, "b");
    BOOST_TEST(mode_of(path) == mode);
  }
}

BOOST_AUTO_TEST_CASE(errors_explain_why_a_file_cannot_be_replaced) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.weft";
  write_file(path, "mine");
  BOOST_REQUIRE(::chmod(path.c_str(), 0444) == 0);
  BOOST_CHECK_EXCEPTION(AtomicFile{path}, IoError, says("it is read-only"));
  BOOST_REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  BOOST_CHECK_EXCEPTION(AtomicFile{folder / "fifo"}, IoError, says("not a regular file"));
  BOOST_CHECK_EXCEPTION(AtomicFile{"/dev/null"}, IoError, says("not a regular file"));
  fs::create_directory(folder / "folder");
  BOOST_CHECK_EXCEPTION(AtomicFile{folder / "folder"}, IoError, says("Is a directory"));
  BOOST_CHECK_EXCEPTION(AtomicFile{folder / "none/m.weft"}, IoError, says("No such file"));
  BOOST_CHECK_EXCEPTION(AtomicFile{""}, IoError, says("No such file"));
  fs::create_symlink(folder / "loop", folder / "loop");
  BOOST_CHECK_THROW(AtomicFile{folder / "loop"}, IoError);
  BOOST_TEST(fs::is_fifo(folder / "fifo"));
  BOOST_TEST(read_file(path) == "mine");
}

BOOST_AUTO_TEST_CASE(a_file_name_of_maximum_length_is_supported) {
  const TemporaryFolder folder;
  const std::string path = folder / std::string(255, 'x');
  save(path, "a");
  BOOST_TEST(read_file(path) == "a");
  BOOST_TEST(folder.files() == 1u);
}

BOOST_AUTO_TEST_CASE(a_symbolic_link_is_kept_and_its_target_is_replaced) {
  const TemporaryFolder folder;
  write_file(folder / "real", "old");
  fs::create_symlink("real", folder / "link");
  save(folder / "link", "new");
  BOOST_TEST(fs::is_symlink(folder / "link"));
  BOOST_TEST(read_file(folder / "real") == "new");
  // If the target does not exist yet, it is created.
  fs::create_symlink("second", folder / "first");
  fs::create_symlink("third", folder / "second");
  save(folder / "first", "made");
  BOOST_TEST(fs::is_symlink(folder / "first"));
  BOOST_TEST(read_file(folder / "third") == "made");
}

BOOST_AUTO_TEST_CASE(written_bytes_can_be_rewritten_before_the_commit) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "x");
  file.write("0123456789", 10);
  file.rewrite(0, "ab", 2);
  file.rewrite(8, "yz", 2);
  BOOST_CHECK_EXCEPTION(file.rewrite(9, "--", 2), ArgumentError, says("only 10 bytes"));
  file.write("!", 1);
  file.commit();
  BOOST_TEST(read_file(folder / "x") == "ab234567yz!");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
