// Batches are made while the step before them runs.
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
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// Gives batches by step and shard, and makes the next ones on a thread of its own: as many as are
/// asked for in a step, so that a program that needs all its shards at once waits for none. Where
/// the machine gives no thread, batches are made when they are asked for. For one thread.
class BatchPrefetcher {
 public:
  using Make = std::function<TrainBatch(const BatchPart&)>;

  /// Of batches in so many shards those that are `mine`. `make` must outlive it, and is never
  /// called twice at once.
  BatchPrefetcher(const Make& make, int shards, ShardRun mine)
      : make_(make), shards_(shards), mine_(mine) {}
  explicit BatchPrefetcher(const Make& make, int shards = 1)
      : BatchPrefetcher(make, shards, {0, shards}) {}
  /// Waits until the batch that is being made is done; it is dropped.
  ~BatchPrefetcher();
  BatchPrefetcher(const BatchPrefetcher&) = delete;
  BatchPrefetcher& operator=(const BatchPrefetcher&) = delete;

  /// A shard of a step; then those behind it are begun, of the next step too where there is to be a
  /// `next` one. Throws what making this one throws, and of those behind it nothing.
  TrainBatch take(std::int64_t step, int shard, bool next);

 private:
  /// A batch, or why there is none.
  struct Made {
    std::optional<TrainBatch> batch;
    std::exception_ptr error;
  };

  /// Shards in the order in which they are taken, counted from 0.
  BatchPart part(std::int64_t place) const;
  Made make(std::int64_t place) const;
  /// The batch that was begun as `place`; nothing where another one was, or none.
  std::optional<Made> finish(std::int64_t place);
  /// Has places made up to `end` - 1.
  void begin(std::int64_t place, std::int64_t end);
  void work();

  const Make& make_;
  const int shards_;
  const ShardRun mine_;
  bool refused_ = false;  // there was no thread
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex:
  std::deque<Made> made_;   // those before next_, in order
  std::int64_t next_ = 0;   // to be made next,
  std::int64_t end_ = 0;    // if it is before this
  bool is_making_ = false;  // at this moment
  bool stop_ = false;
};

}  // namespace weft
