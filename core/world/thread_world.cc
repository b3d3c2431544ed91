#include "weft/core/world/thread_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

using Line = std::tuple<int, int, int>;  // from, to, channel

struct ThreadTransfer : Transfer::State {
  bool done = false;
  Clock::time_point due = Clock::time_point::min();  // when the transfer counts as done
  int waits_for = 0;                                 // the other rank
  std::vector<Line> passed = {};                     // the lines on which the message is forwarded
};

struct Sent {
  std::span<const std::byte> bytes;
  // A copy of the bytes if the send has completed early; `bytes` then refers to this copy.
  std::vector<std::byte> own;
  std::shared_ptr<ThreadTransfer> transfer;
  Clock::time_point due;
  // For a forwarding send: the receive that must complete first.
  std::shared_ptr<ThreadTransfer> received = nullptr;
};
struct Wanted {
  std::span<std::byte> bytes;
  std::shared_ptr<ThreadTransfer> transfer;
};
// The messages from one rank to another on one channel.
struct Messages {
  std::deque<Sent> sent;
  std::deque<Wanted> wanted;
  Clock::time_point due = Clock::time_point::min();  // when the last message arrives
};

enum class Presence { absent, here, stopped, left };

struct RankState {
  Presence presence = Presence::absent;
  Clock::time_point since;  // when the rank was stopped
  std::string phase = "the start";
  Clock::time_point phase_since = Clock::now();
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

struct ThreadWorld::Exchange {
  Exchange(int size, const Options& given)
      : options(given), ranks(static_cast<std::size_t>(size)), random(given.seed) {}

  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<RankState> ranks;
  std::map<Line, Messages> lines;
  std::mt19937_64 random;
  std::string poison;

  RankState& at(int rank) { return ranks[static_cast<std::size_t>(rank)]; }

  // The functions below require the mutex.
  void end(const std::string& why) {
    if (poison.empty()) poison = why;
    changed.notify_all();
  }
  std::string lost(int rank, std::string_view how) {
    const RankState& state = at(rank);
    return fmt::format("rank {} (host {}) {} in {}, which began {:.1f} s ago", rank, host(rank),
                       how, state.phase, seconds_since(state.phase_since));
  }
  void check() const {
    if (!poison.empty()) throw WorldError(poison);
  }
  bool chance() { return options.seed != 0 && random() % 2 == 0; }
  std::string host(int rank) const {
    return fmt::format("thread-{}", options.per_host > 0 ? rank / options.per_host : rank);
  }
  Clock::time_point arrival(Messages& line) {
    if (options.seed == 0) return Clock::time_point::min();
    const auto most = static_cast<std::uint64_t>(options.max_delay.count()) + 1;
    const std::chrono::microseconds delay(static_cast<std::int64_t>(random() % most));
    line.due = std::max(line.due, Clock::now() + delay);
    return line.due;
  }
  void match(const Line& first) {
    std::vector<Line> open{first};
    while (!open.empty() && poison.empty()) {
      const Line line = open.back();
      open.pop_back();
      match(line, open);
    }
    changed.notify_all();
  }
  // Matches the sends of a line (a sender, a receiver and a channel) with its receives. Appends the
  // lines on which forwarded messages can now proceed to `open`.
  void match(const Line& at, std::vector<Line>& open) {
    Messages& line = lines[at];
    const auto [from, to, channel] = at;
    while (!line.sent.empty() && !line.wanted.empty()) {
      Sent& sent = line.sent.front();
      const Wanted& wanted = line.wanted.front();
      if (sent.received != nullptr) {
        if (!sent.received->done) return;
        sent.due = std::max(sent.due, sent.received->due);
      }
      if (sent.bytes.size() != wanted.bytes.size()) {
        return end(fmt::format("rank {} sent {} bytes on channel {}, but rank {} expected {}", from,
                               sent.bytes.size(), channel, to, wanted.bytes.size()));
      }
      if (!sent.bytes.empty())
        std::memcpy(wanted.bytes.data(), sent.bytes.data(), sent.bytes.size());
      for (ThreadTransfer* transfer : {sent.transfer.get(), wanted.transfer.get()}) {
        transfer->done = true;
        transfer->due = sent.due;
      }
      open.insert(open.end(), wanted.transfer->passed.begin(), wanted.transfer->passed.end());
      line.sent.pop_front();
      line.wanted.pop_front();
    }
  }
};

class ThreadWorld::Endpoint final : public Transport {
 public:
  Endpoint(std::shared_ptr<Exchange> exchange, int rank) : x_(std::move(exchange)), rank_(rank) {}
  ~Endpoint() override {
    const std::lock_guard lock(x_->mutex);
    if (x_->at(rank_).presence == Presence::here) x_->at(rank_).presence = Presence::left;
    x_->changed.notify_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(x_->ranks.size()); }
  std::string host(int rank) const override { return x_->host(rank); }

  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(x_->mutex);
    auto transfer = begin(to, channel);
    Messages& line = x_->lines[{rank_, to, channel}];
    Sent sent{bytes, {}, transfer, x_->arrival(line)};
    if (x_->chance()) {  // complete early, as a transport that copies small messages does
      sent.own.assign(bytes.begin(), bytes.end());
      sent.transfer = std::make_shared<ThreadTransfer>();
      transfer->done = true;
    }
    line.sent.push_back(std::move(sent));
    if (transfer->done) line.sent.back().bytes = line.sent.back().own;
    x_->match({rank_, to, channel});
    return Transfer(std::move(transfer));
  }

  Transfer forward(const Transfer& received, int to, int channel,
                   std::span<const std::byte> bytes) override {
    const std::lock_guard lock(x_->mutex);
    auto transfer = begin(to, channel);
    auto before = std::static_pointer_cast<ThreadTransfer>(received.state());
    if (before) before->passed.emplace_back(rank_, to, channel);
    Messages& line = x_->lines[{rank_, to, channel}];
    line.sent.push_back({bytes, {}, transfer, x_->arrival(line), std::move(before)});
    x_->match({rank_, to, channel});
    return Transfer(std::move(transfer));
  }

  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    const std::lock_guard lock(x_->mutex);
    auto transfer = begin(from, channel);
    x_->lines[{from, rank_, channel}].wanted.push_back({bytes, transfer});
    x_->match({from, rank_, channel});
    return Transfer(std::move(transfer));
  }

  bool done(const Transfer& transfer) override {
    const std::lock_guard lock(x_->mutex);
    x_->check();
    const auto* state = static_cast<ThreadTransfer*>(transfer.state().get());
    return state == nullptr || (state->done && Clock::now() >= state->due);
  }

  void wait(const Transfer& transfer) override {
    std::unique_lock lock(x_->mutex);
    const auto* state = static_cast<ThreadTransfer*>(transfer.state().get());
    while (true) {
      const Clock::time_point now = Clock::now();
      Clock::time_point next = now + std::chrono::seconds(1);
      for (int r = 0; r < size(); ++r) {
        if (x_->at(r).presence != Presence::stopped) continue;
        const Clock::time_point late = x_->at(r).since + x_->options.silence;
        if (now >= late) x_->end(x_->lost(r, "is silent; it was"));
        next = std::min(next, late);
      }
      x_->check();
      if (state == nullptr || (state->done && now >= state->due)) return;
      if (state->done) {
        next = std::min(next, state->due);
      } else if (x_->at(state->waits_for).presence == Presence::left) {
        x_->end(x_->lost(state->waits_for, "has left while other ranks wait for it; it was last"));
        continue;
      }
      x_->changed.wait_until(lock, next);
    }
  }

  void poison(std::string_view why) override {
    const std::lock_guard lock(x_->mutex);
    x_->end(std::string(why));
  }
  std::string poisoned() const override {
    const std::lock_guard lock(x_->mutex);
    return x_->poison;
  }
  void set_phase(std::string_view phase) override {
    const std::lock_guard lock(x_->mutex);
    x_->at(rank_).phase = phase;
    x_->at(rank_).phase_since = Clock::now();
  }

 private:
  std::shared_ptr<ThreadTransfer> begin(int other, int channel) {
    check_message(*this, other, channel);
    x_->check();
    auto transfer = std::make_shared<ThreadTransfer>();
    transfer->waits_for = other;
    return transfer;
  }

  const std::shared_ptr<Exchange> x_;
  const int rank_;
};

ThreadWorld::ThreadWorld(int size) : ThreadWorld(size, Options()) {}

ThreadWorld::ThreadWorld(int size, const Options& options) {
  if (size < 1) throw ArgumentError(fmt::format("a world needs at least 1 rank, not {}", size));
  exchange_ = std::make_shared<Exchange>(size, options);
}

int ThreadWorld::size() const { return static_cast<int>(exchange_->ranks.size()); }

std::shared_ptr<Transport> ThreadWorld::connect(int rank) {
  const std::lock_guard lock(exchange_->mutex);
  if (rank < 0 || rank >= size())
    throw ArgumentError(fmt::format("rank {} is not in [0, {})", rank, size()));
  if (exchange_->at(rank).presence != Presence::absent)
    throw StateError(fmt::format("rank {} is already connected", rank));
  exchange_->at(rank).presence = Presence::here;
  return std::make_shared<Endpoint>(exchange_, rank);
}

void ThreadWorld::kill(int rank) {
  const std::lock_guard lock(exchange_->mutex);
  exchange_->at(rank).presence = Presence::left;
  exchange_->end(exchange_->lost(rank, "is lost; it was"));
}

void ThreadWorld::stop(int rank) {
  const std::lock_guard lock(exchange_->mutex);
  exchange_->at(rank).presence = Presence::stopped;
  exchange_->at(rank).since = Clock::now();
  exchange_->changed.notify_all();
}

void ThreadWorld::run(FunctionRef<void(const std::shared_ptr<Transport>&)> body) {
  const auto count = static_cast<std::size_t>(size());
  std::vector<std::exception_ptr> errors(count), lost(count);
  std::vector<std::shared_ptr<Transport>> ends;
  for (int r = 0; r < size(); ++r) ends.push_back(connect(r));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < count; ++r) {
    threads.emplace_back([&, r] {
      const std::shared_ptr<Transport> end = std::exchange(ends[r], nullptr);
      try {
        body(end);
      } catch (const WorldError&) {
        lost[r] = std::current_exception();
      } catch (const std::exception& e) {
        errors[r] = std::current_exception();
        end->poison(fmt::format("{}: {}", describe_rank(*end, end->rank()), e.what()));
      } catch (...) {
        errors[r] = std::current_exception();
        end->poison(describe_rank(*end, end->rank()) + ": an exception");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto* list : {&errors, &lost}) {
    for (const std::exception_ptr& error : *list) {
      if (error) std::rethrow_exception(error);
    }
  }
}

}  // namespace weft
