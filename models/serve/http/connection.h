// A connection of a client. Internal: includes Boost.Asio and Boost.Beast.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/dynamic_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "weft/models/serve/http/exchange.h"
#include "weft/models/serve/http/routes.h"

namespace weft {

/// The state that all connections share. It belongs to the thread of the server, except for `io`,
/// `workers` and `exchanges`.
struct HttpCore {
  HttpCore(std::vector<std::shared_ptr<ServedModel>> models, HttpServerOptions given)
      : options(std::move(given)), routes(std::move(models), options) {}

  const HttpServerOptions options;
  Routes routes;
  boost::asio::io_context io{1};
  boost::asio::thread_pool workers{2};             // parse requests and encode texts
  std::list<std::shared_ptr<Connection>> waiting;  // without a request, the longest waiting first
  std::list<std::shared_ptr<Connection>> busy;     // the others
  std::int64_t body_bytes = 0;                     // of requests that are being received
  std::atomic<std::int64_t> exchanges = 0;         // that exist
  bool stopping = false;
};

/// Reads requests and writes replies, one request at a time.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// Adds a connection to `core`, which owns it until it is closed.
  static void add(const std::shared_ptr<HttpCore>& core, boost::asio::ip::tcp::socket socket);
  Connection(const std::shared_ptr<HttpCore>& core, boost::asio::ip::tcp::socket socket);

  void close();
  /// Closes the connection if it has no request.
  void close_if_idle();
  /// Cancels the running request because the server stops.
  void cancel_request();

  /// Sends the head of a reply and, unless it is chunked, its body.
  void send_reply(HttpReply reply, bool chunked);
  /// Sends a chunk of the body.
  void send_chunk(std::string_view data);
  /// Ends the reply: the next request follows.
  void end_reply();

 private:
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<
      boost::beast::http::basic_dynamic_body<boost::beast::flat_buffer>>;
  enum class State { idle, header, body, busy, draining };

  std::list<std::shared_ptr<Connection>>& list();
  void set_state(State state);
  void set_deadline(std::chrono::milliseconds time);
  void on_deadline();
  void next_request();
  void pump();
  void on_received(std::size_t bytes);
  void read_header();
  void on_header(Error error);
  void on_read_error(Error error);
  void read_body();
  void on_body(Error error, std::size_t before);
  void handle();
  void reject(HttpReply reply);
  void send(std::string_view data);
  void write();
  void on_written(Error error, std::size_t bytes);
  void after_writing();
  void drain();
  void release_body();

  const std::weak_ptr<HttpCore> shared_core_;
  HttpCore* const core_;  // outlives the connection
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  const std::string client_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpRequest request_;
  std::shared_ptr<Exchange> exchange_;
  std::list<std::shared_ptr<Connection>>::iterator place_;  // in list()
  State state_ = State::busy;
  bool reading_ = false, writing_now_ = false, closed_ = false;
  bool timed_ = false;    // the deadline applies
  bool keep_ = true;      // another request may follow
  int version_ = 11;      // of HTTP, times 10
  bool chunked_ = false;  // the reply is chunked
  bool ending_ = false;   // the handler has ended the reply; out_ is still sent
  std::string out_, writing_;
  std::size_t written_ = 0;      // of writing_
  std::size_t progress_ = 0;     // bytes since the deadline was set
  std::int64_t body_bytes_ = 0;  // counted in core_->body_bytes
  std::size_t drained_ = 0;
};

}  // namespace weft
