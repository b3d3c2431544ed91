// An HTTP server for models, with OpenAI's protocol (docs/serving/server.md). weft serve runs it.
//
//   auto model = std::make_shared<ServedModel>("gpt", "gpt.weft");
//   HttpServer server({model}, {.port = 8080});
//   std::thread runs([&] { server.run(); });
//   ...
//   server.stop(std::chrono::seconds(30));
//   runs.join();
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/serve/served_model.h"
#include "weft/models/text/chat/chat_format.h"

namespace WEFT_API weft {

/// A finished request, for access logs.
struct HttpLogEntry {
  std::string client = {};  // address and port
  std::string method = {}, path = {};
  int status = 0;          // 499: the client disconnected before the reply
  double seconds = 0;      // from the last byte of the header to the end of the reply
  std::int64_t bytes = 0;  // of the reply, without its header
  std::string model = {};  // empty unless the request is for a model
  std::int64_t prompt_tokens = 0, new_tokens = 0;
};

struct HttpServerOptions {
  /// The address to listen at. Other addresses than loopback ones need `api_keys` or a network in
  /// which all clients are trusted.
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0 = a free port
  /// If not empty, requests need one of these keys: "Authorization: Bearer KEY". Does not apply to
  /// GET /health and GET /.
  std::vector<std::string> api_keys = {};
  /// The origin of web pages that may read replies (CORS), such as "https://example.org", or "*".
  /// Empty: only the server's own page.
  std::string cors = {};
  /// If set, replaces the chat formats of all models.
  std::optional<ChatFormat> chat_format = {};
  /// Maximum number of tokens per text; 0 = the context of the model.
  std::int64_t max_output = 0;

  // Limits for clients.
  std::int64_t max_body = std::int64_t{8} << 20;  // bytes of a request
  std::int64_t max_header = 16 << 10;             // bytes
  /// Bytes of all requests that are being received; more have to wait (503 with Retry-After).
  std::int64_t max_bodies = std::int64_t{256} << 20;
  std::int64_t max_connections = 1000;  // the longest idle connection is closed for a new one
  /// Bytes of a stream that the client has not read yet. If there are more, the request is
  /// cancelled.
  std::int64_t max_unread = std::int64_t{1} << 20;
  std::chrono::milliseconds header_time{10'000};  // to receive a header
  std::chrono::milliseconds body_time{60'000};    // to receive a body
  std::chrono::milliseconds idle_time{60'000};    // between two requests
  std::chrono::milliseconds write_time{30'000};   // without progress of a reply
  /// Maximum time of a request, unless it asks for less ("timeout"); 0 = unlimited.
  std::chrono::milliseconds request_time{600'000};

  /// Called for every finished request, on the thread of run().
  std::function<void(const HttpLogEntry&)> log = {};
};

/// Serves models. The constructor listens, run() accepts and serves requests.
class HttpServer {
 public:
  /// Throws IoError if the address cannot be used, and ArgumentError if there are no models, or if
  /// two models or adapters have the same name.
  HttpServer(std::vector<std::shared_ptr<ServedModel>> models, HttpServerOptions options = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// The port that the server listens at.
  std::uint16_t port() const;
  /// "http://127.0.0.1:8080"
  std::string address() const;

  /// Serves requests on this thread until stop() has ended all of them.
  void run();
  /// Stops accepting connections and requests. Running requests may take `grace` longer; then they
  /// are cancelled. Returns at once. May be called by any thread, also repeatedly.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
