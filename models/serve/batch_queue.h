// A queue of requests that contain several texts, and a thread that runs the texts of different
// requests together, in batches of similar length.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/serve/batch_status.h"
#include "weft/models/serve/errors.h"

namespace WEFT_API weft {

/// A request for several texts. Subclasses hold the texts and their results.
class QueuedRequest {
 public:
  /// A text of a request.
  struct Text {
    QueuedRequest* request = nullptr;
    std::size_t index = 0;
  };

  /// `lengths` contains the number of tokens of each text. Requests with equal keys may share
  /// batches; they must have the same dynamic type.
  QueuedRequest(std::string key, std::vector<std::int64_t> lengths)
      : key_(std::move(key)), lengths_(std::move(lengths)) {}
  virtual ~QueuedRequest() = default;
  QueuedRequest(const QueuedRequest&) = delete;
  QueuedRequest& operator=(const QueuedRequest&) = delete;

  const std::string& key() const { return key_; }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  std::int64_t tokens() const;

  /// Computes the results of texts of requests with this key, at least one of which belongs to this
  /// request. May throw. May be called again for the same texts after an exception.
  virtual void run(std::span<const Text> texts) = 0;
  /// Called once, at the end: without an error if all texts have results.
  virtual void finish(std::exception_ptr error) = 0;

 private:
  std::string key_;
  std::vector<std::int64_t> lengths_;
};

/// A request whose texts are inputs of type `Input`, for example rows of ids, with results of type
/// `Output`.
template <class Input, class Output>
class RequestOf final : public QueuedRequest {
 public:
  using Inputs = std::vector<const Input*>;
  /// Returns one output per input, which must not depend on the other inputs.
  using Run = std::function<std::vector<Output>(const Inputs& inputs)>;
  using Finish = std::function<void(std::vector<Output> outputs, std::exception_ptr error)>;

  RequestOf(std::string key, std::vector<std::int64_t> lengths, std::vector<Input> inputs, Run run,
            Finish finish)
      : QueuedRequest(std::move(key), std::move(lengths)),
        inputs_(std::move(inputs)),
        outputs_(inputs_.size()),
        run_(std::move(run)),
        finish_(std::move(finish)) {}

  void run(std::span<const Text> texts) override {
    Inputs inputs;
    for (const Text& text : texts) inputs.push_back(&of(text).inputs_[text.index]);
    std::vector<Output> outputs = run_(inputs);
    for (std::size_t i = 0; i < texts.size(); ++i)
      of(texts[i]).outputs_[texts[i].index] = std::move(outputs[i]);
  }
  void finish(std::exception_ptr error) override { finish_(std::move(outputs_), error); }

 private:
  static RequestOf& of(const Text& text) { return static_cast<RequestOf&>(*text.request); }

  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  Run run_;
  Finish finish_;
};

/// Runs requests on a separate thread. Requests take turns: each batch contains a text of the
/// request whose turn it is (its first text without a result), and it is filled with the texts of
/// the same key whose lengths are closest to the length of that text, whichever requests they
/// belong to. No request therefore waits for more than one batch of each request before it, however
/// many texts these contain.
///
/// If a batch with several requests throws, the texts of each of them are run again alone, so that
/// only the requests that cause the error end with it. All functions may be called by any thread.
class BatchQueue {
 public:
  using Clock = std::chrono::steady_clock;

  explicit BatchQueue(const BatchQueueOptions& options = {});
  /// Waits for the current batch, and ends all requests with a CancelledError.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// Adds a request and returns its number. If the deadline passes before all texts have results,
  /// the request ends with a DeadlineError, at the latest after the current batch. Throws
  /// QueueFullError. A request without texts ends at once, on the thread of the queue.
  std::int64_t add(std::unique_ptr<QueuedRequest> request,
                   std::optional<Clock::time_point> deadline = {});
  /// Ends a request with a CancelledError, at the latest after the current batch. Returns false if
  /// it has already ended.
  bool cancel(std::int64_t number);
  BatchQueueStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
