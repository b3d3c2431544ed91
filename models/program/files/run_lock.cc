#include "weft/models/program/files/run_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <string_view>
#include <thread>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/temporary_files.h"

namespace weft::program {
namespace {

constexpr int kAttempts = 5;
constexpr std::chrono::milliseconds kPause{20};

/// The process id 0, which no process has, distinguishes the name from those of other temporary
/// files.
std::string lock_file_of(const std::string& path) { return follow_links(path) + ".tmp-0-0"; }

std::string host_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown machine";
}

[[noreturn]] void close_and_throw_in_use(const std::string& what, const std::string& path, int fd) {
  std::array<char, 512> text = {};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  ::close(fd);
  throw IoError(fmt::format(
      "{}: {} is being written by another training run{}: name another file, or wait until that "
      "run ends",
      what, path,
      size > 0
          ? fmt::format(" ({})",
                        excerpt(std::string_view(text.data(), static_cast<std::size_t>(size)), 400))
          : ""));
}

/// Returns true if the lock file was not removed by the process that held the lock before.
bool is_current(const std::string& name, int fd) {
  struct stat opened = {}, named = {};
  return ::fstat(fd, &opened) == 0 && ::stat(name.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

RunLocks::~RunLocks() {
  for (const Held& held : held_) {
    ::unlink(held.path.c_str());
    ::close(held.fd);
  }
}

void RunLocks::add(const std::string& what, const std::string& path, const std::string& run) {
  const std::string name = lock_file_of(path);
  for (int attempt = 0;; ++attempt) {
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return;  // a later save reports why files cannot be created here
    const int error = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    // A process that cleans up holds such a lock for a moment.
    if (error == EWOULDBLOCK && attempt < kAttempts) {
      ::close(fd);
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (error == EWOULDBLOCK) close_and_throw_in_use(what, path, fd);
    if (error != 0 || !is_current(name, fd)) {
      ::close(fd);
      if (error != 0) return;
      continue;
    }
    held_.push_back({name, fd});
    const std::string text =
        fmt::format("{}, process {} on {}, started at {:%Y-%m-%d %H:%M:%S} UTC", run, ::getpid(),
                    host_name(), fmt::gmtime(std::time(nullptr)));
    static_cast<void>(::ftruncate(fd, 0) == 0 && ::pwrite(fd, text.data(), text.size(), 0) > 0);
    return;
  }
}

void check_no_run(const std::string& what, const std::string& path) {
  const std::string name = lock_file_of(path);
  for (int attempt = 0;; ++attempt) {
    const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return;
    // A shared lock, so that processes that only check do not report each other.
    if (::flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
      ::close(fd);
      return;
    }
    if (attempt == kAttempts) close_and_throw_in_use(what, path, fd);
    ::close(fd);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace weft::program
