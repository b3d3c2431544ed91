#include "weft/serialization/files/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/read_log.h"
#include "weft/serialization/files/foreign_file.h"
#include "weft/serialization/files/standard_input.h"

namespace weft {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

template <class File>
[[noreturn]] void too_long(const File& file, std::uint64_t max_bytes) {
  file.fail(fmt::format("it has more than {} bytes, which is the size limit", max_bytes));
}

template <class File>
std::string read_all(File& file, std::uint64_t max_bytes) {
  std::string bytes;
  constexpr std::size_t kLongestPointer = 1024;
  // A file whose reported size is 0 may have contents (/proc), so only read() determines the end.
  bytes.reserve(static_cast<std::size_t>(file.size()));
  for (;;) {
    const std::size_t there = bytes.size();
    if (there > max_bytes) too_long(file, max_bytes);
    const std::size_t room = std::max(bytes.capacity() - there, std::size_t{1});
    bytes.resize(there + std::min(room, kBlock));
    const std::size_t got = file.read(bytes.data() + there, bytes.size() - there);
    bytes.resize(there + got);
    if (got == 0) {
      if (bytes.size() <= kLongestPointer && is_lfs_pointer(bytes))
        file.fail("it is " + foreign_format(bytes));
      return bytes;
    }
    if (bytes.size() == bytes.capacity())
      bytes.reserve(bytes.size() + std::max(bytes.size() / 2, kBlock));
  }
}

/// Calls read() and returns its result. Converts out-of-memory errors into IoErrors that name the
/// file.
template <class Read>
std::string named_errors(std::string_view path, const Read& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw IoError(fmt::format("cannot read {}: out of memory", path));
  } catch (const std::length_error&) {
    throw IoError(fmt::format("cannot read {}: out of memory", path));
  }
}

/// Wraps stdin, which is already open and must not be closed.
class StandardInput {
 public:
  StandardInput() {
    struct stat status {};
    if (::fstat(STDIN_FILENO, &status) != 0) fail(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail(std::strerror(EISDIR));
    struct stat nothing {};
    const bool ends = ::isatty(STDIN_FILENO) != 0 ||
                      (::stat("/dev/null", &nothing) == 0 && status.st_rdev == nothing.st_rdev);
    if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !ends))
      fail("it is a device, not a file");
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  }

  std::uint64_t size() const { return size_; }
  std::size_t read(char* to, std::size_t most) const {
    for (;;) {
      const ssize_t n = ::read(STDIN_FILENO, to, most);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR && errno != EAGAIN) fail(std::strerror(errno));
      pollfd ready{STDIN_FILENO, POLLIN, 0};
      ::poll(&ready, 1, -1);
    }
  }
  [[noreturn]] static void fail(std::string_view why) {
    throw IoError(fmt::format("cannot read stdin: {}", why));
  }

 private:
  std::uint64_t size_ = 0;
};

}  // namespace

InputFile::InputFile(std::string path, const ReadOptions& options)
    : path_(std::move(path)), options_(options) {
  // O_NONBLOCK: opening a FIFO without a writer would otherwise block forever.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) fail(std::strerror(errno));
  try {
    check_kind();
    ReadLog::record(fd_, path_);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::fail(std::string_view why) const {
  throw IoError(fmt::format("cannot read {}: {}", path_, why));
}

void InputFile::check_kind() {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail(std::strerror(errno));
  pipe_ = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  if (S_ISDIR(status.st_mode)) fail(std::strerror(EISDIR));
  // A terminal is a character device, but it is allowed.
  if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && ::isatty(fd_) == 0))
    fail("it is a device, not a file");
  if (!S_ISREG(status.st_mode)) return;
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ > options_.max_bytes) too_long(*this, options_.max_bytes);
}

std::size_t InputFile::read(char* to, std::size_t most) {
  const auto deadline = Clock::now() + options_.patience;
  for (;;) {
    const ssize_t n = ::read(fd_, to, most);
    if (n > 0 || (n == 0 && (!pipe_ || had_writer_))) {
      had_writer_ = true;
      return static_cast<std::size_t>(n);
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) fail(std::strerror(errno));
    // EAGAIN means that the pipe has a writer. An empty read means that it has had no writer so
    // far, or one that wrote nothing. Only waiting can tell these cases apart, because a writer may
    // open the pipe after the reader.
    had_writer_ = had_writer_ || n < 0;
    wait(deadline);
  }
}

void InputFile::wait(Clock::time_point deadline) const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  if (pipe_ && left.count() <= 0) {
    fail(had_writer_ ? fmt::format("no data has arrived through this pipe for {} s; write it to a "
                                   "file first",
                                   options_.patience.count() / 1000.0)
                     : "no program writes to this pipe");
  }
  if (!had_writer_) {  // poll() would not wait
    std::this_thread::sleep_for(std::min(left, std::chrono::milliseconds(20)));
    return;
  }
  pollfd ready{fd_, POLLIN, 0};
  ::poll(&ready, 1, pipe_ ? static_cast<int>(std::min<std::int64_t>(left.count(), 1000)) : 1000);
}

std::string read_whole_file(const std::string& path, const ReadOptions& options) {
  return named_errors(path, [&] {
    InputFile file(path, options);
    return read_all(file, options.max_bytes);
  });
}

std::string read_standard_input(std::uint64_t max_bytes) {
  return named_errors("stdin", [&] {
    const StandardInput file;
    if (file.size() > max_bytes) too_long(file, max_bytes);
    return read_all(file, max_bytes);
  });
}

std::string first_bytes(const std::string& path, std::size_t most) {
  struct stat status {};
  // A pipe must not even be opened: its writer would fail when this reader closes it.
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {};
  std::string bytes(most, '\0');
  std::size_t size = 0;
  ssize_t got = 0;
  do {
    got = ::read(fd, bytes.data() + size, most - size);
    size += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int error = got < 0 ? errno : 0;
  ::close(fd);
  if (error != 0) throw IoError(fmt::format("cannot read {}: {}", path, std::strerror(error)));
  bytes.resize(size);
  return bytes;
}

}  // namespace weft
