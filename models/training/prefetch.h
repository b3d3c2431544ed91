// Prefetches the next batches while a step runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "weft/core/world/shard_tree.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Returns batches by step and shard, and prefetches the following ones on a separate thread. It
/// prefetches enough shards for a whole step, so that a program that needs all shards at once need
/// not wait. If no thread can be started, batches are made when they are requested. Must be used
/// from one thread only.
class BatchPrefetcher {
 public:
  using Make = std::function<TrainBatch(const BatchPart&)>;

  /// Provides the shards in `mine`; each batch is split into `shards` shards. `make` must outlive
  /// the prefetcher; calls to `make` never overlap.
  BatchPrefetcher(const Make& make, int shards, ShardRun mine)
      : make_(make), shards_(shards), mine_(mine) {}
  explicit BatchPrefetcher(const Make& make, int shards = 1)
      : BatchPrefetcher(make, shards, {0, shards}) {}
  /// Waits for the batch that is being made, and discards it.
  ~BatchPrefetcher();
  BatchPrefetcher(const BatchPrefetcher&) = delete;
  BatchPrefetcher& operator=(const BatchPrefetcher&) = delete;

  /// Returns a shard of a step and starts prefetching the shards after it, including those of the
  /// next step if `next` is set. Rethrows the exception that `make` threw for this shard; an
  /// exception for a later shard is rethrown when that shard is requested.
  TrainBatch take(std::int64_t step, int shard, bool next);

 private:
  /// A batch, or the exception that was thrown while making it.
  struct Made {
    std::optional<TrainBatch> batch;
    std::exception_ptr error;
  };

  /// Returns the batch part with index `place`. Indices count the shards from 0 in the order in
  /// which they are requested.
  BatchPart part(std::int64_t place) const;
  Made make(std::int64_t place) const;
  /// Waits for the prefetched batch with index `place` and returns it. If a different batch or none
  /// was being prefetched, discards all prefetched batches and returns nullopt.
  std::optional<Made> finish(std::int64_t place);
  /// Starts prefetching the batches with indices from `place` to `end` - 1.
  void begin(std::int64_t place, std::int64_t end);
  void work();

  const Make& make_;
  const int shards_;
  const ShardRun mine_;
  bool has_no_thread_ = false;  // no thread could be started
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::deque<Made> made_;   // finished batches with indices before next_, in order
  std::int64_t next_ = 0;   // index of the next batch to make
  std::int64_t end_ = 0;    // batches with this index or a higher one are not prefetched yet
  bool is_making_ = false;  // true while a batch is being made
  bool stop_ = false;
};

}  // namespace weft
