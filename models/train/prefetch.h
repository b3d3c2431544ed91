// Batches are made while the step before them runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// Gives batches by number, and makes the next one on a thread of its own. Where the machine gives
/// no thread, batches are made when they are asked for. For one thread.
class BatchPrefetcher {
 public:
  /// `make` must outlive it, and is never called twice at once.
  explicit BatchPrefetcher(const std::function<TrainBatch(const BatchPart&)>& make) : make_(make) {}
  /// Waits until the batch that is being made is done; it is dropped.
  ~BatchPrefetcher();
  BatchPrefetcher(const BatchPrefetcher&) = delete;
  BatchPrefetcher& operator=(const BatchPrefetcher&) = delete;

  /// Batch `number`; then, where there is to be a `next` one, number + 1 is begun. Throws what
  /// making this batch throws, and of the next one nothing.
  TrainBatch take(std::int64_t number, bool next);

 private:
  /// A batch, or why there is none.
  struct Made {
    std::optional<TrainBatch> batch;
    std::exception_ptr error;
  };

  void begin(std::int64_t number);
  /// Waits for the batch that was begun.
  Made finish();
  void work();

  const std::function<TrainBatch(const BatchPart&)>& make_;
  std::optional<std::int64_t> begun_;  // known to the caller's thread only
  bool refused_ = false;               // there was no thread
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex:
  std::optional<std::int64_t> wanted_;
  std::optional<Made> made_;
  bool stop_ = false;
};

}  // namespace weft
