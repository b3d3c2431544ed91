// A raw HTTP client for servers on this machine, also for requests that violate the protocol.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::attack {

/// A reply. `status` is 0 if the connection ended or the time was over before its end.
struct HttpAnswer {
  int status = 0;
  std::string head, body;  // the body without chunk sizes
};

/// A TCP connection. Never throws because of the server: every function returns when the server
/// closes the connection.
class Client {
 public:
  /// Connects to 127.0.0.1. `receive_buffer` is the size of the socket's buffer in bytes; 0 = the
  /// default of the system.
  explicit Client(int port, int receive_buffer = 0);
  ~Client();
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_connected() const { return fd_ >= 0; }
  /// Sends all bytes. Returns false if the server closed the connection or does not read them in
  /// time.
  bool send(std::string_view bytes, std::chrono::milliseconds time = std::chrono::seconds(5));
  /// Ends the direction to the server.
  void half_close();
  /// Receives the next reply.
  HttpAnswer receive(std::chrono::milliseconds time = std::chrono::seconds(60));
  /// Receives at least one byte, which the next receive() returns. Returns false at the end.
  bool wait(std::chrono::milliseconds time = std::chrono::seconds(60));
  /// Receives everything until the server closes the connection. `closed` becomes false if the time
  /// is over first.
  std::string receive_all(std::chrono::milliseconds time, bool* closed = nullptr);
  /// Closes the connection: with a reset if `reset` is true.
  void close(bool reset = false);

 private:
  using Time = std::chrono::steady_clock::time_point;
  bool more(Time end);
  bool fill(std::size_t bytes, Time end);
  bool line(std::string& text, Time end);

  int fd_ = -1;
  std::string received_;
};

/// Returns a request with a JSON body.
std::string post(std::string_view path, std::string_view body, std::string_view headers = {});

}  // namespace weft::attack
