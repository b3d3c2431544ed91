#include "weft/models/training/prefetch.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace weft {

BatchPrefetcher::~BatchPrefetcher() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

BatchPart BatchPrefetcher::part(std::int64_t place) const {
  return {place / mine_.size(), mine_.shard(static_cast<int>(place % mine_.size())), shards_};
}

BatchPrefetcher::Made BatchPrefetcher::make(std::int64_t place) const {
  Made made;
  try {
    made.batch = make_(part(place));
  } catch (...) {
    made.error = std::current_exception();
  }
  return made;
}

TrainBatch BatchPrefetcher::take(std::int64_t step, int shard, bool next) {
  const std::int64_t size = mine_.size(), place = step * size + (shard - mine_.begin) / mine_.step;
  std::optional<Made> made = finish(place);
  if (!made) made = make(place);
  if (made->error) std::rethrow_exception(made->error);
  begin(place + 1, std::min(place + 1 + size, (step + (next ? 2 : 1)) * size));
  return std::move(*made->batch);
}

std::optional<BatchPrefetcher::Made> BatchPrefetcher::finish(std::int64_t place) {
  std::unique_lock lock(mutex_);
  const std::int64_t first = next_ - std::ssize(made_);
  if (place == first && (!made_.empty() || is_making_ || place < end_)) {
    changed_.wait(lock, [&] { return !made_.empty(); });
    Made made = std::move(made_.front());
    made_.pop_front();
    return made;
  }
  end_ = 0;
  changed_.wait(lock, [&] { return !is_making_; });
  made_.clear();
  return std::nullopt;
}

void BatchPrefetcher::begin(std::int64_t place, std::int64_t end) {
  if (has_no_thread_ || place >= end) return;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      has_no_thread_ = true;
      return;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    // Stop prefetching after a failed batch.
    if (!made_.empty() && made_.back().error) return;
    if (made_.empty() && !is_making_) next_ = place;
    end_ = end;
  }
  changed_.notify_all();
}

void BatchPrefetcher::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || next_ < end_; });
    if (stop_) return;
    const std::int64_t place = next_;
    is_making_ = true;
    lock.unlock();
    Made made = make(place);
    lock.lock();
    is_making_ = false;
    if (made.error) end_ = 0;
    made_.push_back(std::move(made));
    ++next_;
    changed_.notify_all();
  }
}

}  // namespace weft
