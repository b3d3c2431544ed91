#include "weft/models/serve/http/exchange.h"

#include <algorithm>
#include <utility>

#include "weft/models/serve/http/protocol/api_error.h"

namespace weft {

std::optional<std::chrono::steady_clock::time_point> deadline_of(const HttpServerOptions& options,
                                                                 std::optional<double> timeout) {
  using Milliseconds = std::chrono::milliseconds;
  Milliseconds time = options.request_time;
  if (timeout) {
    const Milliseconds asked(static_cast<std::int64_t>(*timeout * 1000));
    time = time.count() == 0 ? asked : std::min(time, asked);
  }
  if (time.count() == 0) return std::nullopt;
  return std::chrono::steady_clock::now() + time;
}

HttpReply error_reply(const ApiError& error) {
  HttpReply reply{error.status(), error.body()};
  if (error.status() == 429 || error.status() == 503)
    reply.headers.emplace_back("Retry-After", "1");
  if (error.status() == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

void post_reply(const std::shared_ptr<Exchange>& exchange, HttpReply reply) {
  exchange->post([exchange, reply = std::move(reply)] { exchange->reply(reply); });
}

void post_json(const std::shared_ptr<Exchange>& exchange, std::string json) {
  post_reply(exchange, {200, std::move(json)});
}

}  // namespace weft
