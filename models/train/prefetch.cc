#include "weft/models/train/prefetch.h"

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

TrainBatch BatchPrefetcher::take(std::int64_t number, bool next) {
  std::optional<Made> ahead;
  if (begun_) {
    const bool wanted = *begun_ == number;
    Made made = finish();
    if (wanted) ahead = std::move(made);
  }
  if (ahead && ahead->error) std::rethrow_exception(ahead->error);
  TrainBatch batch = ahead ? std::move(*ahead->batch) : make_(number);
  if (next) begin(number + 1);
  return batch;
}

void BatchPrefetcher::begin(std::int64_t number) {
  if (refused_) return;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      refused_ = true;
      return;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    wanted_ = number;
  }
  begun_ = number;
  changed_.notify_all();
}

BatchPrefetcher::Made BatchPrefetcher::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return made_.has_value(); });
  Made made = std::move(*made_);
  made_.reset();
  begun_.reset();
  return made;
}

void BatchPrefetcher::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || wanted_.has_value(); });
    if (stop_) return;
    const std::int64_t number = *std::exchange(wanted_, std::nullopt);
    lock.unlock();
    Made made;
    try {
      made.batch = make_(number);
    } catch (...) {
      made.error = std::current_exception();
    }
    lock.lock();
    made_ = std::move(made);
    changed_.notify_all();
  }
}

}  // namespace weft
