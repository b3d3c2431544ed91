#include "weft/models/serve/batch_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>

namespace weft {
namespace {

using Clock = BatchQueue::Clock;

struct Entry {
  std::int64_t number = 0;
  std::unique_ptr<QueuedRequest> request;
  std::optional<Clock::time_point> deadline;
  std::set<std::size_t> left = {};  // texts without results
  std::exception_ptr error = {};    // the request ends with it
  bool running = false;             // a text is in the current batch

  bool has_ended() const { return error != nullptr || left.empty(); }
};

/// A text that waits, ordered by length.
struct Waiting {
  std::int64_t length = 0, number = 0;
  std::size_t index = 0;
  Entry* entry = nullptr;

  friend bool operator<(const Waiting& a, const Waiting& b) {
    return std::tie(a.length, a.number, a.index) < std::tie(b.length, b.number, b.index);
  }
};
Waiting waiting_text(Entry& entry, std::size_t index) {
  return {entry.request->lengths()[index], entry.number, index, &entry};
}

/// Returns the texts around `first` whose lengths are closest to its length, in ascending order of
/// length, with at most `tokens` tokens together unless `first` is longer.
std::vector<Waiting> texts_around(const std::set<Waiting>& all, const Waiting& first,
                                  std::int64_t tokens) {
  auto begin = all.find(first), end = std::next(begin);
  std::int64_t room = tokens - first.length;
  while (true) {
    const bool shorter = begin != all.begin() && std::prev(begin)->length <= room;
    const bool longer = end != all.end() && end->length <= room;
    if (!shorter && !longer) return {begin, end};
    const bool down = shorter && (!longer || first.length - std::prev(begin)->length <=
                                                 end->length - first.length);
    room -= down ? (--begin)->length : (end++)->length;
  }
}

using Batch = std::vector<Waiting>;

void run_texts(std::span<const Waiting> batch) {
  std::vector<QueuedRequest::Text> texts;
  for (const Waiting& text : batch) texts.push_back({text.entry->request.get(), text.index});
  texts.front().request->run(texts);
}

/// Runs a batch, and returns the requests that failed with their errors.
std::map<Entry*, std::exception_ptr> run_batch(const Batch& batch) {
  std::map<std::int64_t, Batch> parts;  // by the number of the request
  for (const Waiting& text : batch) parts[text.number].push_back(text);
  if (parts.size() > 1) {
    try {
      run_texts(batch);
      return {};
    } catch (...) {  // the requests run alone below, and those that are at fault fail again
    }
  }
  std::map<Entry*, std::exception_ptr> failed;
  for (const auto& [number, texts] : parts) {
    try {
      run_texts(texts);
    } catch (...) {
      failed[texts.front().entry] = std::current_exception();
    }
  }
  return failed;
}

}  // namespace

std::int64_t QueuedRequest::tokens() const {
  return std::accumulate(lengths_.begin(), lengths_.end(), std::int64_t{0});
}

struct BatchQueue::Impl {
  explicit Impl(const BatchQueueOptions& given) : options(given), thread([this] { serve(); }) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    thread.join();
  }

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopping || !turns.empty(); });
      end_requests(lock);
      if (stopping && turns.empty()) return;
      // Requests may have been added or cancelled while others ended.
      if (!turns.empty() && !turns.front()->has_ended()) run_next(lock);
    }
  }

  /// Ends the requests that have all results, an error or no time left.
  void end_requests(std::unique_lock<std::mutex>& lock) {
    const Clock::time_point now = Clock::now();
    std::vector<std::unique_ptr<Entry>> ended;
    for (auto& entry : turns) {
      if (!entry->has_ended() && entry->deadline && *entry->deadline <= now) {
        entry->error = std::make_exception_ptr(
            DeadlineError(fmt::format("the deadline passed when {} of {} texts had results",
                                      entry->request->lengths().size() - entry->left.size(),
                                      entry->request->lengths().size())));
        ++status.cancelled;
      }
      if (!entry->has_ended() && stopping) cancel(*entry, "the server stops");
      if (!entry->has_ended()) continue;
      for (const std::size_t index : entry->left) forget(waiting_text(*entry, index));
      ++status.requests;
      ended.push_back(std::move(entry));
    }
    std::erase(turns, nullptr);
    lock.unlock();
    for (const auto& entry : ended) entry->request->finish(entry->error);
    lock.lock();
  }

  void run_next(std::unique_lock<std::mutex>& lock) {
    Entry& first = *turns.front();
    const Batch batch =
        texts_around(waiting.at(first.request->key()), waiting_text(first, *first.left.begin()),
                     options.batch_tokens);
    for (const Waiting& text : batch) {
      text.entry->running = true;
      status.tokens += text.length;
    }
    ++status.batches;
    turns.push_back(std::move(turns.front()));
    turns.pop_front();
    lock.unlock();
    const Clock::time_point begin = Clock::now();
    const auto failed = run_batch(batch);
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    lock.lock();
    status.busy_seconds += seconds.count();
    for (const Waiting& text : batch) {
      text.entry->running = false;
      text.entry->left.erase(text.index);
      forget(text);
    }
    for (const auto& [entry, error] : failed) {
      if (entry->error != nullptr) continue;  // it was cancelled during the run
      entry->error = error;
      ++status.failed;
    }
  }

  void cancel(Entry& entry, const char* reason) {
    entry.error = std::make_exception_ptr(CancelledError(reason));
    ++status.cancelled;
  }
  void forget(const Waiting& text) {
    const auto found = waiting.find(text.entry->request->key());
    found->second.erase(text);
    if (found->second.empty()) waiting.erase(found);
  }

  const BatchQueueOptions options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  std::int64_t next_number = 0;
  std::deque<std::unique_ptr<Entry>> turns;          // in the order of their turns
  std::map<std::string, std::set<Waiting>> waiting;  // texts without results by key
  BatchQueueStatus status;
  std::thread thread;  // the last member: it uses all others
};

BatchQueue::BatchQueue(const BatchQueueOptions& options) {
  if (options.batch_tokens < 1 || options.requests < 1) {
    throw ArgumentError(
        fmt::format("a queue needs at least one token per batch and one request, not {} and {}",
                    options.batch_tokens, options.requests));
  }
  impl_ = std::make_unique<Impl>(options);
}

BatchQueue::~BatchQueue() = default;

std::int64_t BatchQueue::add(std::unique_ptr<QueuedRequest> request,
                             std::optional<Clock::time_point> deadline) {
  std::int64_t number = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    if (std::ssize(impl_->turns) >= impl_->options.requests) {
      throw QueueFullError(
          fmt::format("{} requests wait or run, the maximum of the queue: try again later",
                      impl_->turns.size()));
    }
    number = impl_->next_number++;
    auto entry = std::make_unique<Entry>(Entry{number, std::move(request), deadline});
    for (std::size_t i = 0; i < entry->request->lengths().size(); ++i) {
      entry->left.insert(entry->left.end(), i);
      impl_->waiting[entry->request->key()].insert(waiting_text(*entry, i));
    }
    impl_->turns.push_back(std::move(entry));
  }
  impl_->changed.notify_all();
  return number;
}

bool BatchQueue::cancel(std::int64_t number) {
  const std::lock_guard lock(impl_->mutex);
  for (const auto& entry : impl_->turns) {
    if (entry->number != number || entry->has_ended()) continue;
    impl_->cancel(*entry, "the request was cancelled");
    return true;
  }
  return false;
}

BatchQueueStatus BatchQueue::status() const {
  const std::lock_guard lock(impl_->mutex);
  BatchQueueStatus status = impl_->status;
  for (const auto& entry : impl_->turns) ++(entry->running ? status.running : status.waiting);
  return status;
}

}  // namespace weft
