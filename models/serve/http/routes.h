// The endpoints of the server: from a request to the model, and from its result to the reply.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/serve/http/exchange.h"
#include "weft/models/serve/http/model_table.h"

namespace weft {

/// Handles requests. Shared by the worker threads.
class Routes {
 public:
  Routes(std::vector<std::shared_ptr<ServedModel>> models, const HttpServerOptions& options);

  /// Returns the reply to a request that is rejected because of its header: wrong key, unknown
  /// path or method, web page of another origin. `content_type` is the type of its body. Cheap.
  std::optional<HttpReply> refuse(const HttpRequest& request, std::string_view content_type) const;
  /// Handles a request that was not rejected, on a worker thread. Throws ApiError, and the errors
  /// of models for invalid requests.
  void handle(const std::shared_ptr<Exchange>& exchange);
  /// Adds a finished request to the metrics.
  void count(const HttpLogEntry& entry);
  /// From now on, GET /health reports that the server stops.
  void set_stopping() { stopping_ = true; }

 private:
  using Handler = void (Routes::*)(const std::shared_ptr<Exchange>&);
  struct Route {
    const char *method, *path;
    Handler handler;
    bool open = false;  // needs no key
  };
  static const std::vector<Route>& all();
  static const Route* find(const std::string& method, const std::string& path);
  bool has_key(const std::string& authorization) const;

  void page(const std::shared_ptr<Exchange>& exchange);
  void health(const std::shared_ptr<Exchange>& exchange);
  void list_models(const std::shared_ptr<Exchange>& exchange);
  void status(const std::shared_ptr<Exchange>& exchange);
  void metrics(const std::shared_ptr<Exchange>& exchange);
  void chat(const std::shared_ptr<Exchange>& exchange);
  void complete(const std::shared_ptr<Exchange>& exchange);
  void embeddings(const std::shared_ptr<Exchange>& exchange);
  void rerank(const std::shared_ptr<Exchange>& exchange);
  void classify(const std::shared_ptr<Exchange>& exchange);
  void tag(const std::shared_ptr<Exchange>& exchange);
  void translate(const std::shared_ptr<Exchange>& exchange);
  void tokenize(const std::shared_ptr<Exchange>& exchange);
  void detokenize(const std::shared_ptr<Exchange>& exchange);

  ModelTable models_;
  const HttpServerOptions& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;                                     // of the counters
  std::map<std::pair<std::string, int>, std::int64_t> replies_;  // by path and status
  double reply_seconds_ = 0;
};

}  // namespace weft
