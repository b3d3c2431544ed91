#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace weft::testing {

std::vector<std::string> ClientReply::events() const {
  std::vector<std::string> events;
  constexpr std::string_view kData = "data: ";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find("\n\n", at);
    if (end == std::string::npos) break;
    const std::string event = body.substr(at, end - at);
    if (event.starts_with(kData)) events.push_back(event.substr(kData.size()));
    at = end + 2;
  }
  return events;
}

HttpClient::HttpClient(std::uint16_t port) {
  socket_ = socket(AF_INET, SOCK_STREAM, 0);
  const timeval limit{.tv_sec = 30, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close();
    throw std::runtime_error("cannot connect");
  }
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string HttpClient::request(const std::string& path, const std::string& json,
                                const std::string& headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         headers + "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json;
}

ClientReply HttpClient::get(const std::string& path, const std::string& headers) {
  send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  return receive();
}

ClientReply HttpClient::post(const std::string& path, const std::string& json,
                             const std::string& headers) {
  send(request(path, json, headers));
  return receive();
}

bool HttpClient::more() {
  char bytes[4096];
  const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  received_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

bool HttpClient::receive_until(std::string_view text) {
  while (received_.find(text) == std::string::npos)
    if (!more()) return false;
  return true;
}

bool HttpClient::is_closed() { return received_.empty() && !more() && received_.empty(); }

ClientReply HttpClient::receive(bool head) {
  ClientReply reply;
  if (!receive_until("\r\n\r\n")) return reply;
  const std::size_t end = received_.find("\r\n\r\n");
  std::string lines = received_.substr(0, end + 2);
  received_.erase(0, end + 4);
  reply.status = std::stoi(lines.substr(lines.find(' ') + 1));
  for (std::size_t at = lines.find("\r\n") + 2; at < lines.size();) {
    const std::size_t colon = lines.find(": ", at), next = lines.find("\r\n", at);
    std::string name = lines.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply.headers[name] = lines.substr(colon + 2, next - colon - 2);
    at = next + 2;
  }
  const auto take = [&](std::size_t size, std::string& to) {
    while (received_.size() < size)
      if (!more()) return false;
    to = received_.substr(0, size);
    received_.erase(0, size);
    return true;
  };
  if (head) {
    reply.complete = true;
  } else if (reply.headers["transfer-encoding"] == "chunked") {
    for (std::string chunk; receive_until("\r\n");) {
      const std::size_t line = received_.find("\r\n");
      const std::size_t size = std::stoul(received_.substr(0, line), nullptr, 16);
      received_.erase(0, line + 2);
      if (!take(size + 2, chunk)) break;
      reply.complete = size == 0;
      if (reply.complete) break;
      reply.body += chunk.substr(0, size);
    }
  } else if (reply.headers.contains("content-length")) {
    reply.complete = take(std::stoul(reply.headers["content-length"]), reply.body);
  } else {
    while (more()) {
    }
    reply.body = std::exchange(received_, {});
    reply.complete = true;
  }
  return reply;
}

}  // namespace weft::testing
