#include "weft/models/program/terminal/typed_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "weft/core/error.h"

namespace weft::program {
namespace {

constexpr std::size_t kLongestLine = std::size_t{16} << 20;

std::atomic<bool> interrupt_pending{false};
// A byte in this pipe wakes poll(). The signal alone is not enough, because it may arrive just
// before poll() begins, or in another thread.
int wake_ends[2] = {-1, -1};

void on_interrupt(int) {
  const int error = errno;
  interrupt_pending.store(true);
  // A failed write can be ignored, because a full pipe wakes poll() as well.
  [[maybe_unused]] const ssize_t written = write(wake_ends[1], "!", 1);
  errno = error;
}

}  // namespace

TypedLines::TypedLines() {
  if (wake_ends[0] < 0 && pipe2(wake_ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw IoError(std::string("cannot create a pipe: ") + std::strerror(errno));
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

bool TypedLines::interrupted() { return interrupt_pending.load(); }
bool TypedLines::take_interrupt() { return interrupt_pending.exchange(false); }

TypedLine TypedLines::next() {
  for (;;) {
    if (take_interrupt()) return {TypedLine::Kind::interrupted};
    const std::size_t end = read_.find('\n', searched_);
    searched_ = read_.size();
    if (end == std::string::npos && read_.size() > kLongestLine)
      throw IoError(fmt::format("cannot read stdin: a line is longer than {} bytes", kLongestLine));
    if (end != std::string::npos || !wait()) {
      if (end == std::string::npos && read_.empty()) return {TypedLine::Kind::end};
      std::string text = read_.substr(0, end);
      read_.erase(0, end == std::string::npos ? end : end + 1);
      searched_ = 0;
      while (text.ends_with('\r')) text.pop_back();
      return {TypedLine::Kind::text, std::move(text)};
    }
  }
}

bool TypedLines::wait() {
  pollfd ends[] = {{STDIN_FILENO, POLLIN, 0}, {wake_ends[0], POLLIN, 0}};
  if (poll(ends, 2, -1) < 0) return errno == EINTR;
  char bytes[4096];
  if (ends[1].revents != 0) {
    while (read(wake_ends[0], bytes, sizeof bytes) > 0) {
    }
    return true;
  }
  const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
  if (size < 0 && errno != EINTR && errno != EAGAIN)
    throw IoError(fmt::format("cannot read stdin: {}", std::strerror(errno)));
  if (size > 0) read_.append(bytes, static_cast<std::size_t>(size));
  return size != 0;
}

}  // namespace weft::program
