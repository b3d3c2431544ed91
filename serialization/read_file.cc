#include "weft/serialization/read_file.h"

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

#include "weft/core/error.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBlock = std::size_t{1} << 20;

class Input {
 public:
  Input(const std::string& path, const ReadOptions& options) : path_(path), options_(options) {
    // A FIFO without a writer would block the opening for ever.
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd_ < 0) fail(std::strerror(errno));
    try {
      check_kind();
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~Input() { ::close(fd_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  std::string read_all() {
    std::string bytes;
    // A file that says it is empty may have contents (/proc): the end is where read() says it is.
    bytes.reserve(static_cast<std::size_t>(size_));
    for (;;) {
      const std::size_t there = bytes.size();
      if (there > options_.most_bytes) too_long();
      const std::size_t room = std::max(bytes.capacity() - there, std::size_t{1});
      bytes.resize(there + std::min(room, kBlock));
      const std::size_t got = read_some(bytes.data() + there, bytes.size() - there);
      bytes.resize(there + got);
      if (got == 0) return bytes;
      if (bytes.size() == bytes.capacity()) bytes.reserve(bytes.size() + grown(bytes.size()));
    }
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw IoError(fmt::format("cannot read {}: {}", path_, why));
  }
  [[noreturn]] void too_long() const {
    fail(fmt::format("it has more than {} bytes, the limit of what is read", options_.most_bytes));
  }
  static std::size_t grown(std::size_t bytes) { return std::max(bytes / 2, kBlock); }

  void check_kind() {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail(std::strerror(errno));
    pipe_ = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
    if (S_ISDIR(status.st_mode)) fail(std::strerror(EISDIR));
    // What a person types is a device too.
    if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && ::isatty(fd_) == 0))
      fail("it is a device, not a file");
    if (!S_ISREG(status.st_mode)) return;
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ > options_.most_bytes) too_long();
  }

  // 0 at the end.
  std::size_t read_some(char* to, std::size_t most) {
    const auto deadline = Clock::now() + options_.patience;
    for (;;) {
      const ssize_t n = ::read(fd_, to, most);
      if (n > 0 || (n == 0 && (!pipe_ || had_writer_))) {
        had_writer_ = true;
        return static_cast<std::size_t>(n);
      }
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno != EAGAIN) fail(std::strerror(errno));
      // EAGAIN: somebody has it open for writing. Nothing: nobody has had so far, or has closed it
      // without a word; only waiting tells, as the one who opens it first waits for the other.
      had_writer_ = had_writer_ || n < 0;
      wait(deadline);
    }
  }
  void wait(Clock::time_point deadline) const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (pipe_ && left.count() <= 0) {
      fail(had_writer_ ? fmt::format("nothing has come through this pipe for {} s; write it to a "
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

  const std::string& path_;
  const ReadOptions& options_;
  int fd_ = -1;
  bool pipe_ = false, had_writer_ = false;
  std::uint64_t size_ = 0;
};

}  // namespace

std::string read_whole_file(const std::string& path, const ReadOptions& options) {
  try {
    return Input(path, options).read_all();
  } catch (const std::bad_alloc&) {
    throw IoError(fmt::format("cannot read {}: out of memory", path));
  } catch (const std::length_error&) {
    throw IoError(fmt::format("cannot read {}: out of memory", path));
  }
}

}  // namespace weft
