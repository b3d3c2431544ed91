// A request and its reply, for the code that handles requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/serve/http/http_server.h"

namespace weft {

class ApiError;
class Connection;
struct HttpCore;

struct HttpRequest {
  std::string method, path;  // without the query
  std::string body = {};
  std::string client = {};  // address and port
  std::string authorization = {}, host = {}, origin = {};
};

struct HttpReply {
  int status = 200;
  std::string body = {};
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// A request and its reply. A request is handled on a worker thread, which may read the request and
/// call post(). Everything else belongs to the thread of the server.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<HttpCore> core, std::weak_ptr<Connection> connection,
           HttpRequest request);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const { return request_; }
  /// Frees the body of the request, after the handler has read it.
  void release_body() { std::string().swap(request_.body); }
  std::chrono::steady_clock::time_point begin() const { return begin_; }

  /// Runs `work` on the thread of the server, in the order of the calls. May be called by any
  /// thread. Exceptions become error replies.
  void post(std::function<void()> work);
  /// Runs `work` on a worker thread. May be called by any thread. Exceptions become error replies.
  void work(std::function<void()> work);

  /// Sends the reply.
  void reply(HttpReply reply);
  /// Begins a stream of server-sent events.
  void start_stream();
  bool is_stream() const { return streaming_; }
  /// Sends a part of the stream.
  void write(std::string_view data);
  /// Ends the stream.
  void end_stream();
  /// Sends an error: as the reply, or as the last event of a stream.
  void fail(const std::exception_ptr& error, bool accepted = false);

  /// Calls `cancel` when the client disconnects or the server stops: at once if that has happened
  /// already.
  void on_cancel(std::function<void()> cancel);
  /// True after the client disconnected or the reply was sent: further calls change nothing.
  bool is_over() const { return over_; }
  /// True if the server is ending its requests.
  bool is_stopped() const { return stopped_; }

  /// The part of the log entry that the handler knows.
  HttpLogEntry entry;

 private:
  friend class Connection;
  void finish(int status);
  void cancel();

  const std::shared_ptr<HttpCore> core_;
  const std::weak_ptr<Connection> connection_;
  HttpRequest request_;
  const bool is_large_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::function<void()> cancel_;
  bool streaming_ = false, over_ = false, cancelled_ = false, stopped_ = false;
};

/// Returns the time at which a request that begins now ends: after `timeout` seconds, but not later
/// than the server permits; empty if there is no limit.
std::optional<std::chrono::steady_clock::time_point> deadline_of(const HttpServerOptions& options,
                                                                 std::optional<double> timeout);
/// Returns the reply for an error.
HttpReply error_reply(const ApiError& error);
/// Posts a reply.
void post_reply(const std::shared_ptr<Exchange>& exchange, HttpReply reply);
/// Posts a reply with JSON.
void post_json(const std::shared_ptr<Exchange>& exchange, std::string json);

}  // namespace weft
