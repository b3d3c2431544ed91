#include "weft/core/mpi/mpi_transport.h"

#include <fmt/format.h>

// The C++ bindings that MPI has dropped.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// MPI counts in int.
constexpr std::size_t kMostPiece = std::size_t{1} << 30;
// Between two looks at what is on its way: the machine's cores are for the workers.
constexpr std::chrono::microseconds kBusyPause{30}, kIdlePause{2000};
constexpr std::chrono::milliseconds kNewsPause{20};
// Those who hear of the end need to be told before this process goes.
constexpr std::chrono::milliseconds kFarewell{500};

struct MpiTransfer : Transfer::State {
  std::size_t pieces = 0;  // under way
  bool done = false;
};

struct Posted {
  bool send;
  int other, channel;
  std::byte* data;
  std::size_t bytes;
  std::shared_ptr<MpiTransfer> transfer;
};

// What ranks tell one another besides.
struct Word {
  enum Kind : std::int32_t { alive, poison };
  std::int32_t kind = alive;
  std::int32_t rank = 0;
  double phase_seconds = 0;          // since the phase of `alive` began
  std::array<char, 1008> text = {};  // the phase, or why the world ends

  void set(std::string_view what) {
    const std::size_t size = std::min(what.size(), text.size() - 1);
    std::memcpy(text.data(), what.data(), size);
    text[size] = '\0';
  }
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const MpiOptions& options) : options_(options) {
    thread_ = std::thread([this] { main(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return started_; });
    if (poison_.empty()) return;
    lock.unlock();
    thread_.join();
    throw WorldError(poison_);
  }

  ~MpiTransport() override {
    if (std::uncaught_exceptions() > 0) poison(describe_rank(*this, rank_) + " has failed");
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    posted_something_.notify_all();
    thread_.join();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host(int rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }

  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    // MPI reads it only.
    return post({true, to, channel, const_cast<std::byte*>(bytes.data()), bytes.size(), nullptr});
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    return post({false, from, channel, bytes.data(), bytes.size(), nullptr});
  }

  bool done(const Transfer& transfer) override {
    const std::lock_guard lock(mutex_);
    check();
    const auto* state = static_cast<MpiTransfer*>(transfer.state());
    return state == nullptr || state->done;
  }
  void wait(const Transfer& transfer) override {
    std::unique_lock lock(mutex_);
    const auto* state = static_cast<MpiTransfer*>(transfer.state());
    changed_.wait(lock, [&] { return !poison_.empty() || state == nullptr || state->done; });
    check();
  }

  void poison(std::string_view why) override {
    {
      const std::lock_guard lock(mutex_);
      if (!poison_.empty()) return;
      poison_ = why;
      tell_ = true;
    }
    changed_.notify_all();
    posted_something_.notify_all();
  }
  std::string poisoned() const override {
    const std::lock_guard lock(mutex_);
    return poison_;
  }
  void set_phase(std::string_view phase) override {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    phase_since_ = Clock::now();
  }

 private:
  struct Active {
    std::shared_ptr<MpiTransfer> transfer;
    bool send;
    int other, channel;
    std::size_t bytes;
  };

  void check() const {
    if (!poison_.empty()) throw WorldError(poison_);
  }

  Transfer post(Posted posted) {
    check_message(*this, posted.other, posted.channel);
    auto transfer = std::make_shared<MpiTransfer>();
    posted.transfer = transfer;
    {
      const std::lock_guard lock(mutex_);
      check();
      posted_.push_back(std::move(posted));
    }
    posted_something_.notify_all();
    return Transfer(std::move(transfer));
  }

  // All below: on the thread that owns MPI.

  // False, and the world is poisoned, where `code` says that MPI failed.
  bool good(int code, std::string_view what) {
    if (code == MPI_SUCCESS) return true;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int size = 0;
    MPI_Error_string(code, text.data(), &size);
    poison(fmt::format("{}: {} failed: {}", describe_rank(*this, rank_), what,
                       std::string_view(text.data(), static_cast<std::size_t>(size))));
    return false;
  }

  void main() {
    start();
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
      if (!poison_.empty()) tell_ = false;
    }
    changed_.notify_all();
    if (data_ == MPI_COMM_NULL) return;
    while (true) {
      const bool moved = start_posted() | finish_active();
      hear();
      say_alive();
      if (!poisoned().empty()) return end_poisoned();
      if (leave()) return;
      pause(moved);
    }
  }

  void start() {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED) {
      const std::lock_guard lock(mutex_);
      poison_ = "MPI does not start with support for threads (MPI_THREAD_FUNNELED)";
      return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &data_);
    MPI_Comm_dup(MPI_COMM_WORLD, &words_);
    for (const MPI_Comm comm : {data_, words_, MPI_COMM_WORLD, MPI_COMM_SELF})
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(data_, &rank_);
    MPI_Comm_size(data_, &size_);
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    std::vector<char> all(name.size() * static_cast<std::size_t>(size_));
    const int count = static_cast<int>(name.size());
    MPI_Allgather(name.data(), count, MPI_CHAR, all.data(), count, MPI_CHAR, data_);
    for (int r = 0; r < size_; ++r)
      hosts_.emplace_back(all.data() + name.size() * static_cast<std::size_t>(r));
    last_heard_ = last_said_ = Clock::now();
    if (size_ > 1) listen();
  }

  bool start_posted() {
    std::vector<Posted> posted;
    {
      const std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (const Posted& p : posted) {
      // A message without bytes is a message, too.
      for (std::size_t at = 0; at == 0 || at < p.bytes; at += kMostPiece) {
        const std::size_t bytes = std::min(kMostPiece, p.bytes - at);
        const int count = static_cast<int>(bytes);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code =
            p.send ? MPI_Isend(p.data + at, count, MPI_BYTE, p.other, p.channel, data_, &request)
                   : MPI_Irecv(p.data + at, count, MPI_BYTE, p.other, p.channel, data_, &request);
        if (!good(code, p.send ? "a send" : "a receive")) return true;
        ++p.transfer->pieces;
        requests_.push_back(request);
        active_.push_back({p.transfer, p.send, p.other, p.channel, bytes});
      }
    }
    return !posted.empty();
  }

  bool finish_active() {
    if (requests_.empty()) return false;
    const int count = static_cast<int>(requests_.size());
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int finished = 0;
    const int code =
        MPI_Testsome(count, requests_.data(), &finished, indices_.data(), statuses_.data());
    if (code == MPI_ERR_IN_STATUS) {
      for (int i = 0; i < finished; ++i)
        check_finished(i, statuses_[static_cast<std::size_t>(i)].MPI_ERROR);
      return true;
    }
    if (!good(code, "a test of messages") || finished <= 0) return false;
    for (int i = 0; i < finished; ++i) check_finished(i, MPI_SUCCESS);
    {
      const std::lock_guard lock(mutex_);
      for (int i = 0; i < finished; ++i) {
        MpiTransfer& transfer = *active_at(i).transfer;
        if (--transfer.pieces == 0) transfer.done = true;
      }
    }
    changed_.notify_all();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      if (kept != i) active_[kept] = std::move(active_[i]);
      ++kept;
    }
    requests_.resize(kept);
    active_.resize(kept);
    return true;
  }

  Active& active_at(int finished) {
    return active_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(finished)])];
  }

  void check_finished(int i, int code) {
    const Active& a = active_at(i);
    int got = 0;
    if (!a.send && code == MPI_SUCCESS)
      MPI_Get_count(&statuses_[static_cast<std::size_t>(i)], MPI_BYTE, &got);
    const bool longer = !a.send && code != MPI_SUCCESS && is_truncation(code);
    if (longer || (!a.send && code == MPI_SUCCESS && static_cast<std::size_t>(got) != a.bytes)) {
      poison(fmt::format("rank {} sent {} bytes on channel {}, rank {} expected {}", a.other,
                         longer ? "more" : std::to_string(got), a.channel, rank_, a.bytes));
    } else {
      good(code, "a message");
    }
  }

  static bool is_truncation(int code) {
    int kind = 0;
    MPI_Error_class(code, &kind);
    return kind == MPI_ERR_TRUNCATE;
  }

  void listen() {
    good(MPI_Irecv(&heard_, sizeof heard_, MPI_BYTE, MPI_ANY_SOURCE, 0, words_, &hearing_),
         "a receive");
  }

  void hear() {
    if (size_ == 1) return;
    int there = 0;
    while (good(MPI_Test(&hearing_, &there, MPI_STATUS_IGNORE), "a test of messages") &&
           there != 0) {
      const Word word = heard_;
      listen();
      if (word.kind == Word::poison) {
        {
          const std::lock_guard lock(mutex_);
          if (poison_.empty()) poison_ = word.text.data();
        }
        changed_.notify_all();
        return;
      }
      last_heard_ = Clock::now();
      last_word_ = word;
    }
    if (Clock::now() - last_heard_ < options_.silence) return;
    const double silent = std::chrono::duration<double>(Clock::now() - last_heard_).count();
    const int before = (rank_ + size_ - 1) % size_;
    poison(fmt::format("{} is silent for {:.1f} s; it was in {}, which began {:.1f} s ago",
                       describe_rank(*this, before), silent,
                       last_word_.text[0] == '\0' ? "the start" : last_word_.text.data(),
                       silent + last_word_.phase_seconds));
  }

  // To the next rank, which listens to this one.
  void say_alive() {
    const Clock::time_point now = Clock::now();
    if (size_ == 1) return;
    // A new phase is told at once, unless phases are short.
    {
      const std::lock_guard lock(mutex_);
      const bool news = phase_since_ > last_said_;
      if (now - last_said_ < (news ? kNewsPause : options_.silence / 8)) return;
    }
    int there = 1;
    if (saying_ != MPI_REQUEST_NULL) MPI_Test(&saying_, &there, MPI_STATUS_IGNORE);
    if (there == 0) return;
    last_said_ = now;
    {
      const std::lock_guard lock(mutex_);
      said_.set(phase_);
      said_.phase_seconds = std::chrono::duration<double>(now - phase_since_).count();
    }
    said_.rank = rank_;
    good(MPI_Isend(&said_, sizeof said_, MPI_BYTE, (rank_ + 1) % size_, 0, words_, &saying_),
         "a send");
  }

  // MPI cannot be finalised any more: somebody may be gone.
  void end_poisoned() {
    farewell_.kind = Word::poison;
    farewell_.rank = rank_;
    {
      const std::lock_guard lock(mutex_);
      if (!tell_) return;
      farewell_.set(poison_);
    }
    std::vector<MPI_Request> told;
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPI_Isend(&farewell_, sizeof farewell_, MPI_BYTE, r, 0, words_, &request) == MPI_SUCCESS)
        told.push_back(request);
    }
    const Clock::time_point end = Clock::now() + kFarewell;
    for (int all = 0; all == 0 && Clock::now() < end;) {
      if (MPI_Testall(static_cast<int>(told.size()), told.data(), &all, MPI_STATUSES_IGNORE) !=
          MPI_SUCCESS)
        return;
      std::this_thread::sleep_for(kBusyPause);
    }
  }

  // True once all ranks have left.
  bool leave() {
    {
      const std::lock_guard lock(mutex_);
      if (!leaving_ || !posted_.empty()) return false;
    }
    if (!requests_.empty()) return false;
    if (leave_ == MPI_REQUEST_NULL) good(MPI_Ibarrier(data_, &leave_), "a barrier");
    int all = 0;
    if (!good(MPI_Test(&leave_, &all, MPI_STATUS_IGNORE), "a barrier") || all == 0) return false;
    if (hearing_ != MPI_REQUEST_NULL) {
      MPI_Cancel(&hearing_);
      MPI_Wait(&hearing_, MPI_STATUS_IGNORE);
    }
    if (saying_ != MPI_REQUEST_NULL) MPI_Wait(&saying_, MPI_STATUS_IGNORE);
    MPI_Comm_free(&data_);
    MPI_Comm_free(&words_);
    MPI_Finalize();
    return true;
  }

  void pause(bool moved) {
    if (moved) return;
    std::unique_lock lock(mutex_);
    if (!posted_.empty() || tell_) return;
    const bool busy = !requests_.empty() || leaving_;
    posted_something_.wait_for(lock, busy ? kBusyPause : kIdlePause);
  }

  const MpiOptions options_;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;           // a transfer is done, or the world ends
  std::condition_variable posted_something_;  // the thread has work
  bool started_ = false, leaving_ = false;
  bool tell_ = false;  // this rank was the first to say that the world ends
  std::string poison_;
  std::string phase_ = "the start";
  Clock::time_point phase_since_ = Clock::now();
  std::vector<Posted> posted_;

  // Of the thread.
  MPI_Comm data_ = MPI_COMM_NULL, words_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
  std::vector<Active> active_;  // of the requests
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  Word heard_, said_, last_word_, farewell_;
  MPI_Request hearing_ = MPI_REQUEST_NULL, saying_ = MPI_REQUEST_NULL, leave_ = MPI_REQUEST_NULL;
  Clock::time_point last_heard_, last_said_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Transport> connect_mpi(const MpiOptions& options) {
  static std::atomic<bool> connected{false};
  if (connected.exchange(true))
    throw StateError("connect_mpi: this process is connected already, and MPI starts only once");
  return std::make_shared<MpiTransport>(options);
}

}  // namespace weft
