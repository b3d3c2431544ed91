#include "weft/models/serve/http/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>

#include "weft/core/error.h"
#include "weft/models/serve/http/connection.h"

namespace weft {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Returns how many connections the limit of open files permits.
std::int64_t permitted_connections(std::int64_t wanted) {
  constexpr std::int64_t kOtherFiles = 64;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::clamp<std::int64_t>(
      wanted, 1,
      std::max<std::int64_t>(1, static_cast<std::int64_t>(limit.rlim_cur) - kOtherFiles));
}

tcp::acceptor listen(asio::io_context& io, const HttpServerOptions& options) {
  try {
    tcp::resolver resolver(io);
    const tcp::endpoint end = *resolver.resolve(options.host, std::to_string(options.port)).begin();
    tcp::acceptor acceptor(io, end);  // with SO_REUSEADDR
    return acceptor;
  } catch (const boost::system::system_error& e) {
    throw IoError(
        fmt::format("cannot listen at {}:{}: {}", options.host, options.port, e.code().message()));
  }
}

}  // namespace

struct HttpServer::Impl {
  Impl(std::vector<std::shared_ptr<ServedModel>> models, HttpServerOptions options)
      : core(std::make_shared<HttpCore>(std::move(models), std::move(options))),
        acceptor(listen(core->io, core->options)),
        timer(core->io),
        most(permitted_connections(core->options.max_connections)) {}

  /// Closes the connection that has waited longest for a request. Returns false if all have one.
  bool evict() {
    if (core->waiting.empty()) return false;
    core->waiting.front()->close();
    return true;
  }

  void accept() {
    acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (!acceptor.is_open()) return;
      if (!error) {
        const auto open = static_cast<std::int64_t>(core->waiting.size() + core->busy.size());
        if (open < most || evict()) Connection::add(core, std::move(socket));
        return accept();
      }
      // Too many open files: accept again when there are fewer.
      evict();
      timer.expires_after(std::chrono::milliseconds(50));
      timer.async_wait([this](boost::system::error_code) {
        if (acceptor.is_open()) accept();
      });
    });
  }

  void begin_stop(std::chrono::milliseconds grace) {
    const auto end = std::chrono::steady_clock::now() + grace;
    if (core->stopping) {
      cancel_time = std::min(cancel_time, end);
      return;
    }
    core->stopping = true;
    core->routes.set_stopping();
    cancel_time = end;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    for_each([](Connection& connection) { connection.close_if_idle(); });
    watch_end();
  }

  /// Ends the requests when their time is over, and the loop when all of them have ended.
  void watch_end() {
    constexpr std::chrono::seconds kClosing(3);  // for cancelled requests to send their end
    const auto now = std::chrono::steady_clock::now();
    if (now >= cancel_time) for_each([](Connection& connection) { connection.cancel_request(); });
    if (now >= cancel_time + kClosing) for_each([](Connection& connection) { connection.close(); });
    if (core->waiting.empty() && core->busy.empty() && core->exchanges == 0) {
      core->io.stop();
      return;
    }
    timer.expires_after(std::chrono::milliseconds(10));
    timer.async_wait([this](boost::system::error_code) { watch_end(); });
  }

  template <class Visit>
  void for_each(Visit visit) {
    std::vector<std::shared_ptr<Connection>> all(core->waiting.begin(), core->waiting.end());
    all.insert(all.end(), core->busy.begin(), core->busy.end());
    for (const auto& connection : all) visit(*connection);
  }

  const std::shared_ptr<HttpCore> core;
  tcp::acceptor acceptor;
  asio::steady_timer timer;  // of accept(), later of watch_end()
  const std::int64_t most;   // connections
  std::chrono::steady_clock::time_point cancel_time = {};
};

HttpServer::HttpServer(std::vector<std::shared_ptr<ServedModel>> models, HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(models), std::move(options))) {}

HttpServer::~HttpServer() {
  impl_->for_each([](Connection& connection) { connection.close(); });
  impl_->core->workers.join();
}

std::uint16_t HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }

std::string HttpServer::address() const {
  const bool v6 = impl_->acceptor.local_endpoint().address().is_v6();
  const std::string& host = impl_->core->options.host;
  return fmt::format("http://{}:{}", v6 ? "[" + host + "]" : host, port());
}

void HttpServer::run() {
  impl_->accept();
  // A handler that fails for lack of memory ends its connection, and the others continue.
  for (;;) {
    try {
      impl_->core->io.run();
      return;
    } catch (const std::exception&) {
    }
  }
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  asio::post(impl_->core->io, [this, grace] { impl_->begin_stop(grace); });
}

}  // namespace weft
