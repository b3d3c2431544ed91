#include "weft/models/serve/http/connection.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "weft/models/serve/http/protocol/api_error.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::size_t kPiece = 4096;              // bytes per read
constexpr std::size_t kMostAhead = 64 << 10;      // bytes of further requests
constexpr std::size_t kRoomToRead = 64 << 10;     // bytes beyond a header in the buffer
constexpr std::size_t kMostDrained = 16 << 20;    // bytes that are ignored before a close
constexpr std::size_t kLeastProgress = 16 << 10;  // bytes of a reply per write_time
constexpr std::size_t kLargeBody = 256 << 10;     // bytes of a request
constexpr int kClientClosed = 499;

std::string address_of(const asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto end = socket.remote_endpoint(error);
  return error ? "unknown" : fmt::format("{}:{}", end.address().to_string(), end.port());
}

/// Returns the reply to a request that cannot be parsed.
ApiError parse_error(const boost::system::error_code& error, const HttpServerOptions& options) {
  if (error == http::error::header_limit) {
    return {431,
            fmt::format("the header of the request has more than {} bytes", options.max_header)};
  }
  if (error == http::error::body_limit) {
    return {413, fmt::format("the body of the request has more than {} bytes", options.max_body),
            "body_too_large"};
  }
  if (error == http::error::buffer_overflow)
    return {431, "an extension of a chunk or the trailer of the request is too long"};
  return {400, "the request is not valid HTTP: " + error.message(), "invalid_http"};
}

}  // namespace

Exchange::Exchange(std::shared_ptr<HttpCore> core, std::weak_ptr<Connection> connection,
                   HttpRequest request)
    : core_(std::move(core)),
      connection_(std::move(connection)),
      request_(std::move(request)),
      is_large_(request_.body.size() > kLargeBody) {
  entry.client = request_.client;
  entry.method = request_.method;
  entry.path = request_.path;
  ++core_->exchanges;
}

Exchange::~Exchange() {
  // The C library would keep the memory of the request, up to 40 times its size, in each thread.
  if (is_large_) {
    try {
      asio::post(core_->workers, [] { ::malloc_trim(0); });
    } catch (const std::bad_alloc&) {
      ::malloc_trim(0);
    }
  }
  --core_->exchanges;
}

void Exchange::post(std::function<void()> work) {
  asio::post(core_->io, [self = shared_from_this(), work = std::move(work)] {
    try {
      work();
    } catch (...) {
      self->fail(std::current_exception());
    }
  });
}

void Exchange::work(std::function<void()> work) {
  asio::post(core_->workers, [self = shared_from_this(), work = std::move(work)] {
    try {
      work();
    } catch (...) {
      const auto fail = [self, error = std::current_exception()] { self->fail(error); };
      // If even this takes too much memory, other requests will free some.
      for (int tries = 0; tries < 1000; ++tries) {
        try {
          return self->post(fail);
        } catch (const std::bad_alloc&) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      }
    }
  });
}

void Exchange::reply(HttpReply reply) {
  if (over_) return;
  entry.bytes = std::ssize(reply.body);
  const int status = reply.status;
  if (const auto connection = connection_.lock()) connection->send_reply(std::move(reply), false);
  finish(status);
}

void Exchange::start_stream() {
  if (over_) return;
  streaming_ = true;
  const auto connection = connection_.lock();
  if (!connection) return;
  connection->send_reply(
      {200, {}, "text/event-stream", {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}},
      true);
}

void Exchange::write(std::string_view data) {
  if (over_) return;
  entry.bytes += std::ssize(data);
  if (const auto connection = connection_.lock()) connection->send_chunk(data);
}

void Exchange::end_stream() {
  if (!over_) finish(200);
}

void Exchange::fail(const std::exception_ptr& error, bool accepted) {
  const ApiError found =
      stopped_ ? ApiError(503, "the server stops before the request is complete", "stopping")
               : api_error(error, accepted);
  if (!streaming_) return reply(error_reply(found));
  write(fmt::format("data: {}\n\n", found.body()));
  end_stream();
}

void Exchange::on_cancel(std::function<void()> cancel) {
  if (cancelled_) {
    cancel();
  } else {
    cancel_ = std::move(cancel);
  }
}

void Exchange::cancel() {
  if (std::exchange(cancelled_, true)) return;
  if (const auto call = std::exchange(cancel_, nullptr)) call();
}

void Exchange::finish(int status) {
  if (std::exchange(over_, true)) return;
  cancel_ = nullptr;
  entry.status = status;
  entry.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  core_->routes.count(entry);
  if (const auto& log = core_->options.log) log(entry);
  if (status == kClientClosed) return;
  if (const auto connection = connection_.lock()) connection->end_reply();
}

void Connection::add(const std::shared_ptr<HttpCore>& core, asio::ip::tcp::socket socket) {
  const auto connection = std::make_shared<Connection>(core, std::move(socket));
  connection->place_ = core->busy.insert(core->busy.end(), connection);
  Error ignored;
  connection->socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  connection->next_request();
}

Connection::Connection(const std::shared_ptr<HttpCore>& core, asio::ip::tcp::socket socket)
    : shared_core_(core),
      core_(core.get()),
      socket_(std::move(socket)),
      timer_(core->io),
      client_(address_of(socket_)),
      buffer_(std::max(static_cast<std::size_t>(core->options.max_header), kMostAhead) +
              kRoomToRead) {}

std::list<std::shared_ptr<Connection>>& Connection::list() {
  return state_ == State::idle || state_ == State::header ? core_->waiting : core_->busy;
}

void Connection::set_state(State state) {
  auto& from = list();
  state_ = state;
  list().splice(list().end(), from, place_);
}

void Connection::set_deadline(std::chrono::milliseconds time) {
  timed_ = true;
  timer_.expires_after(time);
  timer_.async_wait([self = weak_from_this()](Error error) {
    if (error) return;
    if (const auto connection = self.lock()) connection->on_deadline();
  });
}

void Connection::on_deadline() {
  // The deadline may have changed while this handler was waiting to run.
  if (closed_ || !timed_ || timer_.expiry() > Clock::now()) return;
  const bool partial = state_ == State::header || state_ == State::body;
  if (!partial || exchange_) return close();
  Error ignored;
  socket_.cancel(ignored);  // the pending read
  reject(error_reply(ApiError(408, "the request was not received in time", "timeout")));
}

void Connection::next_request() {
  ending_ = false;
  request_ = {};
  parser_.reset();
  release_body();
  if (core_->stopping || !keep_) return drain();
  set_state(State::idle);
  set_deadline(core_->options.idle_time);
  if (buffer_.size() == 0) return pump();
  // The next request has arrived. A pending read ends first, because it uses the buffer.
  Error ignored;
  reading_ ? static_cast<void>(socket_.cancel(ignored)) : read_header();
}

void Connection::pump() {
  if (reading_ || closed_ || buffer_.size() >= kMostAhead) return;
  reading_ = true;
  socket_.async_read_some(buffer_.prepare(kPiece),
                          [self = shared_from_this()](Error error, std::size_t bytes) {
                            self->reading_ = false;
                            if (self->closed_) return;
                            const bool cancelled = error == asio::error::operation_aborted;
                            error && !cancelled ? self->close() : self->on_received(bytes);
                          });
}

void Connection::on_received(std::size_t bytes) {
  if (state_ == State::draining) {
    drained_ += bytes;
    if (drained_ > kMostDrained) return close();
    return pump();
  }
  buffer_.commit(bytes);
  state_ == State::idle ? read_header() : pump();
}

void Connection::read_header() {
  set_state(State::header);
  set_deadline(core_->options.header_time);
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(core_->options.max_header));
  parser_->body_limit(static_cast<std::uint64_t>(core_->options.max_body));
  http::async_read_header(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](Error error, std::size_t) { self->on_header(error); });
}

void Connection::on_header(Error error) {
  if (closed_ || state_ != State::header) return;
  set_state(State::body);
  if (error) return on_read_error(error);
  const auto& message = parser_->get();
  const auto text = [&](http::field field) { return std::string(message[field]); };
  keep_ = message.keep_alive();
  version_ = static_cast<int>(message.version());
  request_.method = std::string(message.method_string());
  const std::string target(message.target());
  request_.path = target.substr(0, target.find('?'));
  request_.client = client_;
  request_.authorization = text(http::field::authorization);
  request_.host = text(http::field::host);
  request_.origin = text(http::field::origin);
  if (core_->stopping)
    return reject(error_reply(ApiError(503, "the server is stopping", "stopping")));
  if (auto reply = core_->routes.refuse(request_, text(http::field::content_type)))
    return reject(std::move(*reply));
  if (parser_->is_done()) return handle();
  if (text(http::field::expect) == "100-continue") send("HTTP/1.1 100 Continue\r\n\r\n");
  set_deadline(core_->options.body_time);
  read_body();
}

void Connection::on_read_error(Error error) {
  const bool invalid =
      error.category() == http::make_error_code(http::error::body_limit).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message;
  invalid ? reject(error_reply(parse_error(error, core_->options))) : close();
}

void Connection::read_body() {
  const std::size_t before = parser_->get().body().size();
  http::async_read_some(socket_, buffer_, *parser_,
                        [self = shared_from_this(), before](Error error, std::size_t) {
                          self->on_body(error, before);
                        });
}

void Connection::on_body(Error error, std::size_t before) {
  if (closed_ || state_ != State::body || exchange_) return;
  if (error) return on_read_error(error);
  const auto added = static_cast<std::int64_t>(parser_->get().body().size() - before);
  body_bytes_ += added;
  core_->body_bytes += added;
  if (core_->body_bytes > core_->options.max_bodies) {
    return reject(error_reply(ApiError(
        503, "the server is receiving too many large requests: try again later", "overloaded")));
  }
  parser_->is_done() ? handle() : read_body();
}

void Connection::handle() {
  request_.body = boost::beast::buffers_to_string(parser_->get().body().data());
  parser_->get().body().clear();
  set_state(State::busy);
  parser_.reset();
  exchange_ =
      std::make_shared<Exchange>(shared_core_.lock(), weak_from_this(), std::move(request_));
  exchange_->work([exchange = exchange_.get(), routes = &core_->routes] {
    routes->handle(exchange->shared_from_this());
  });
  pump();  // to notice if the client disconnects
  timed_ = false;
}

void Connection::reject(HttpReply reply) {
  // The rest of the request is not read, so no other request can follow.
  keep_ = keep_ && parser_ && parser_->is_done();
  if (state_ != State::body) set_state(State::body);
  const auto exchange =
      std::make_shared<Exchange>(shared_core_.lock(), weak_from_this(), std::move(request_));
  exchange_ = exchange;
  exchange->reply(std::move(reply));
}

void Connection::send_reply(HttpReply reply, bool chunked) {
  const HttpRequest& request = exchange_->request();
  const bool head = request.method == "HEAD";
  chunked_ = chunked && version_ >= 11;
  if (core_->stopping || (chunked && !chunked_)) keep_ = false;
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nServer: weft\r\nContent-Type: {}\r\n", reply.status,
      http::obsolete_reason(static_cast<http::status>(reply.status)).to_string(), reply.type);
  if (chunked_) {
    text += "Transfer-Encoding: chunked\r\n";
  } else if (!chunked && reply.status != 204) {
    text += fmt::format("Content-Length: {}\r\n", reply.body.size());
  }
  if (!core_->options.cors.empty())
    text += fmt::format("Access-Control-Allow-Origin: {}\r\nVary: Origin\r\n", core_->options.cors);
  for (const auto& [name, value] : reply.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += keep_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  if (!head) text += reply.body;
  send(text);
}

void Connection::send_chunk(std::string_view data) {
  if (closed_ || data.empty()) return;
  if (std::ssize(out_) + std::ssize(data) > core_->options.max_unread) return close();
  chunked_ ? send(fmt::format("{:x}\r\n{}\r\n", data.size(), data)) : send(data);
}

void Connection::end_reply() {
  if (closed_) return;
  if (chunked_) send("0\r\n\r\n");
  ending_ = true;
  if (!writing_now_) after_writing();
}

void Connection::send(std::string_view data) {
  if (closed_) return;
  out_ += data;
  if (!writing_now_) write();
}

void Connection::write() {
  writing_now_ = true;
  if (written_ == writing_.size()) {
    writing_ = std::exchange(out_, {});
    written_ = progress_ = 0;
    set_deadline(core_->options.write_time);
  }
  socket_.async_write_some(asio::buffer(writing_.data() + written_, writing_.size() - written_),
                           [self = shared_from_this()](Error error, std::size_t bytes) {
                             self->on_written(error, bytes);
                           });
}

void Connection::on_written(Error error, std::size_t bytes) {
  writing_now_ = false;
  if (closed_) return;
  if (error) return close();
  written_ += bytes;
  progress_ += bytes;
  if (progress_ >= kLeastProgress) {
    progress_ = 0;
    set_deadline(core_->options.write_time);
  }
  if (written_ < writing_.size() || !out_.empty()) return write();
  std::string().swap(writing_);  // an assignment would keep the memory
  written_ = 0;
  timed_ = state_ == State::body && !exchange_;
  if (timed_) set_deadline(core_->options.body_time);  // after "100 Continue"
  after_writing();
}

void Connection::after_writing() {
  if (!ending_ || !out_.empty() || writing_now_) return;
  exchange_.reset();
  chunked_ = false;
  next_request();
}

void Connection::drain() {
  set_state(State::draining);
  Error ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  set_deadline(std::chrono::seconds(1));
  buffer_.clear();
  pump();
}

void Connection::close_if_idle() {
  if (state_ == State::idle) close();
}

void Connection::cancel_request() {
  const auto exchange = exchange_;
  if (!exchange) return;
  exchange->stopped_ = true;
  exchange->cancel();
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  list().erase(place_);
  Error ignored;
  socket_.close(ignored);
  timer_.cancel();
  release_body();
  if (const auto exchange = std::exchange(exchange_, nullptr)) {
    exchange->cancel();
    exchange->finish(kClientClosed);
  }
}

void Connection::release_body() { core_->body_bytes -= std::exchange(body_bytes_, 0); }

}  // namespace weft
