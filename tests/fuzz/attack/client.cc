#include "client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace weft::attack {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Returns false if the time is over first.
bool wait_for(int fd, short events, SteadyClock::time_point end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now()).count();
  pollfd wanted{fd, events, 0};
  return left > 0 && ::poll(&wanted, 1, static_cast<int>(left)) > 0;
}

/// Returns the value of a header, in lower case; empty if it is missing.
std::string header(std::string head, const std::string& name) {
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

}  // namespace

Client::Client(int port, int receive_buffer) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (fd_ < 0) return;
  if (receive_buffer > 0)
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) close();
}

Client::~Client() { close(); }

Client::Client(Client&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

Client& Client::operator=(Client&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(received_, other.received_);
  return *this;
}

bool Client::send(std::string_view bytes, std::chrono::milliseconds time) {
  const Time end = SteadyClock::now() + time;
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN || !wait_for(fd_, POLLOUT, end)) {
      return false;
    }
  }
  return true;
}

void Client::half_close() { ::shutdown(fd_, SHUT_WR); }

void Client::close(bool reset) {
  if (fd_ < 0) return;
  const linger now{1, 0};
  if (reset) ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  ::close(std::exchange(fd_, -1));
}

bool Client::more(Time end) {
  if (fd_ < 0 || !wait_for(fd_, POLLIN, end)) return false;
  char bytes[65536];
  const auto got = ::recv(fd_, bytes, sizeof(bytes), 0);
  if (got <= 0) {
    close();
    return false;
  }
  received_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

bool Client::fill(std::size_t bytes, Time end) {
  while (received_.size() < bytes) {
    if (!more(end)) return false;
  }
  return true;
}

bool Client::line(std::string& text, Time end) {
  std::size_t at;
  while ((at = received_.find("\r\n")) == std::string::npos) {
    if (!more(end)) return false;
  }
  text = received_.substr(0, at);
  received_.erase(0, at + 2);
  return true;
}

bool Client::wait(std::chrono::milliseconds time) {
  return fill(received_.size() + 1, SteadyClock::now() + time);
}

HttpAnswer Client::receive(std::chrono::milliseconds time) {
  const Time end = SteadyClock::now() + time;
  HttpAnswer answer;
  std::string text;
  do {
    if (!line(text, end)) return answer;
    answer.head += text + "\r\n";
  } while (!text.empty());
  const int status = answer.head.size() > 12 ? std::atoi(answer.head.c_str() + 9) : 0;
  if (header(answer.head, "transfer-encoding") == "chunked") {
    for (;;) {
      if (!line(text, end)) return answer;
      const std::size_t size = std::strtoull(text.c_str(), nullptr, 16);
      if (!fill(size + 2, end)) return answer;
      answer.body += received_.substr(0, size);
      received_.erase(0, size + 2);
      if (size == 0) break;
    }
  } else {
    const std::size_t size =
        std::strtoull(header(answer.head, "content-length").c_str(), nullptr, 10);
    if (!fill(size, end)) return answer;
    answer.body = received_.substr(0, size);
    received_.erase(0, size);
  }
  answer.status = status;
  return answer;
}

std::string Client::receive_all(std::chrono::milliseconds time, bool* closed) {
  const Time end = SteadyClock::now() + time;
  while (more(end)) {
  }
  if (closed != nullptr) *closed = fd_ < 0;
  return std::exchange(received_, {});
}

std::string post(std::string_view path, std::string_view body, std::string_view headers) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{}Content-Length: "
      "{}\r\n\r\n{}",
      path, headers, body.size(), body);
}

}  // namespace weft::attack
