// A small HTTP client for tests, with plain sockets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::testing {

/// A reply. The names of headers are in lower case.
struct ClientReply {
  int status = 0;
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  bool complete = false;  // the body ended as its header announced

  /// Returns the data of the server-sent events in the body.
  std::vector<std::string> events() const;
};

/// A connection to a server on this machine. Fails after 30 s without data.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends a request and returns the reply. `headers` are lines that end with "\r\n".
  ClientReply get(const std::string& path, const std::string& headers = {});
  ClientReply post(const std::string& path, const std::string& json,
                   const std::string& headers = {});

  /// Sends bytes. Returns false if the server has closed the connection.
  bool send(std::string_view bytes);
  /// Returns the text of a POST request.
  static std::string request(const std::string& path, const std::string& json,
                             const std::string& headers = {});
  /// Receives a reply, or the part of it that arrives before the server closes the connection.
  /// `head`: the reply has no body.
  ClientReply receive(bool head = false);
  /// Receives until `text` has arrived. Returns false if the server closed the connection before.
  bool receive_until(std::string_view text);
  /// Returns true if the server has closed the connection and has sent nothing more.
  bool is_closed();
  /// Closes the connection at once.
  void close();

 private:
  bool more();  // receives some bytes

  int socket_ = -1;
  std::string received_;  // that no reply has used
};

}  // namespace weft::testing
