#include "weft/core/mpi/mpi_transport.h"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/mpi/mpi_control_messages.h"
#include "weft/core/mpi/mpi_messages.h"
#include "weft/core/world/awake_clock.h"
#include "weft/core/world/control_message.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// Polling intervals while no thread is waiting for a transfer, with and without pieces in flight.
// Polling is infrequent because every poll interrupts a worker, for about 10 us on virtual
// machines.
constexpr std::chrono::microseconds kBusyPollInterval{1000}, kIdlePollInterval{2000};
// Polling interval if a thread has been waiting for longer than kSpinDuration, for example for a
// slow link or a disk. Before that, polling is continuous.
constexpr std::chrono::microseconds kWaitingPollInterval{30};
constexpr std::chrono::milliseconds kSpinDuration{1000};
// The number of progress calls per poll. If MPI transfers a message in fragments, one call makes
// progress on only one or two fragments.
constexpr int kProgressCallsPerPoll = 16;
// The minimum interval between heartbeats that announce new phases.
constexpr std::chrono::milliseconds kMinHeartbeatInterval{20};
// The maximum time for which this process waits for its abort messages to be sent before it exits.
constexpr std::chrono::milliseconds kAbortFlushTimeout{500};
// The time for which a process that has already left stays alive after an abort, so that the other
// processes can report the error first.
constexpr std::chrono::milliseconds kExitDelayAfterLeave{2000};

// The message that a rank sent when it left, and the time at which it was received.
struct LeaveNotice {
  ControlMessage message;
  Clock::time_point at;
};

// A pending check of whether the predecessor is alive.
struct PendingPing {
  std::chrono::milliseconds within;
  Clock::time_point deadline;
  bool sent = false;
};

// The ranks to which this rank sends an abort message.
enum class AbortTargets { none, some, all };

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

#ifdef MPICH_VERSION
// If a process fails, MPICH's launcher keeps waiting for the processes on other machines, some of
// which may no longer respond. MPI_Abort is required to end the launcher. The launcher then
// discards output that it has not read yet, so this process first waits for its output to be read.
// If MPI_Abort hangs because the launcher cannot be reached, SIGALRM ends this process.
void end_all_at_exit() {
  const auto end_all = [] {
    std::fflush(nullptr);
    std::this_thread::sleep_for(kAbortFlushTimeout);
    constexpr unsigned kSeconds = 2;
    std::signal(SIGALRM, SIG_DFL);
    alarm(kSeconds);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  };
  std::atexit(end_all);
}
#else
void end_all_at_exit() {}  // the launcher of Open MPI ends all processes by itself
#endif

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const MpiOptions& options) : silence_(options.silence) {
    thread_ = std::thread([this] { main(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return started_; });
    if (poison_.empty()) return;
    lock.unlock();
    thread_.join();
    throw WorldError(poison_);
  }

  ~MpiTransport() override {
    if (thread_.joinable()) {
      if (std::uncaught_exceptions() > 0) poison(describe_rank(*this, rank_) + " has failed");
      finish();
    }
    if (!poison_.empty()) end_all_at_exit();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host(int rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }

  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    // The const_cast is safe: MPI only reads the bytes.
    return post({true, to, channel, const_cast<std::byte*>(bytes.data()), bytes.size()});
  }
  Transfer forward(const Transfer& received, int to, int channel,
                   std::span<const std::byte> bytes) override {
    return post({.send = true,
                 .other = to,
                 .channel = channel,
                 .data = const_cast<std::byte*>(bytes.data()),
                 .bytes = bytes.size(),
                 .received = std::static_pointer_cast<MpiTransfer>(received.state())});
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    return post({false, from, channel, bytes.data(), bytes.size()});
  }

  bool done(const Transfer& transfer) override {
    const std::lock_guard lock(mutex_);
    check();
    const auto* state = static_cast<MpiTransfer*>(transfer.state().get());
    return state == nullptr || state->done;
  }
  void wait(const Transfer& transfer) override {
    std::unique_lock lock(mutex_);
    const auto* state = static_cast<MpiTransfer*>(transfer.state().get());
    const auto over = [&] {
      check_ping_deadline();
      check();
      return state == nullptr || state->done;
    };
    if (over()) return;
    const WaitingCount waiting(*this);
    while (!over()) {
      if (pending_ping_) {
        changed_.wait_until(lock, pending_ping_->deadline);
      } else {
        changed_.wait(lock);
      }
    }
  }

  void poison(std::string_view why) override {
    {
      const std::lock_guard lock(mutex_);
      if (!poison_.empty()) return;
      poison_ = why;
      abort_targets_ = AbortTargets::all;
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
  void leave() override {
    {
      const std::lock_guard lock(mutex_);
      leave_called_ = true;
    }
    if (thread_.joinable()) finish();
    check();
  }
  void ping(std::chrono::milliseconds within) override {
    {
      const std::lock_guard lock(mutex_);
      if (size_ == 1 || pending_ping_) return;
      pending_ping_ = {.within = within, .deadline = Clock::now() + within};
    }
    changed_.notify_all();
  }

 private:
  // Scope guard that counts the current thread as waiting. Requires the lock.
  class WaitingCount {
   public:
    explicit WaitingCount(MpiTransport& of) : of_(of) {
      if (of_.waiting_++ > 0) return;
      of_.waiting_since_ = Clock::now();
      of_.posted_something_.notify_all();
    }
    ~WaitingCount() { --of_.waiting_; }
    WaitingCount(const WaitingCount&) = delete;
    WaitingCount& operator=(const WaitingCount&) = delete;

   private:
    MpiTransport& of_;
  };

  void finish() {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    posted_something_.notify_all();
    thread_.join();
  }

  void check() const {
    if (!poison_.empty()) throw WorldError(poison_);
  }

  // Poisons the world if a ping has not been answered in time. Requires the lock. Waiting threads
  // also call this function, because the thread that owns MPI may block inside MPI for a long time
  // (with Open MPI, while a lost process is reported). With two ranks, the lost rank can be
  // identified even if the ping has not been sent yet.
  void check_ping_deadline() {
    if (!pending_ping_ || Clock::now() < pending_ping_->deadline || !poison_.empty()) return;
    if (!pending_ping_->sent && size_ > 2) {
      pending_ping_->deadline = Clock::now() + pending_ping_->within;
      return;
    }
    poison_ = predecessor_status("lost");
    abort_targets_ = AbortTargets::all;
    changed_.notify_all();
    posted_something_.notify_all();
  }

  // Returns the error message about the predecessor. Requires the lock.
  std::string predecessor_status(std::string_view how) const {
    return fmt::format("{} is {}; it was in {}, which began {:.1f} s ago",
                       describe_rank(*this, predecessor()), how, predecessor_phase_,
                       seconds_since(predecessor_phase_since_));
  }

  Transfer post(MpiMessage message) {
    check_message(*this, message.other, message.channel);
    message.transfer = std::make_shared<MpiTransfer>();
    auto transfer = message.transfer;
    {
      const std::lock_guard lock(mutex_);
      check();
      posted_.push_back(std::move(message));
    }
    posted_something_.notify_all();
    return Transfer(std::move(transfer));
  }

  // The functions below run on the thread that owns MPI.

  void main() {
    start();
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
      if (!poison_.empty()) abort_targets_ = AbortTargets::none;
    }
    changed_.notify_all();
    if (data_ == MPI_COMM_NULL) return;
    while (true) {
      awake_.tick();
      const bool started = start_posted(), finished = make_progress();
      poll();
      check_departed_ranks();
      ping_predecessor();
      send_heartbeat();
      if (!poisoned().empty()) return send_abort();
      if (all_left()) return;
      if (!started && !finished) pause();
    }
  }

  void start() {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED) {
      const std::lock_guard lock(mutex_);
      poison_ = "MPI cannot be initialised with thread support (MPI_THREAD_FUNNELED)";
      return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &data_);
    MPI_Comm_dup(MPI_COMM_WORLD, &control_comm_);
    for (const MPI_Comm comm : {data_, control_comm_, MPI_COMM_WORLD, MPI_COMM_SELF})
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
    // All ranks must use the same timeout. A rank that sent heartbeats less often than another rank
    // expects would be considered lost.
    std::int64_t silence = silence_.count();
    MPI_Bcast(&silence, 1, MPI_INT64_T, 0, data_);
    silence_ = std::chrono::milliseconds(silence);
    leave_notices_.resize(hosts_.size());
    messages_.emplace(data_, *this);
    control_.emplace(control_comm_, *this);
    awake_ = AwakeClock(silence_ / 8);
    last_heard_ = awake_.now();
    last_heartbeat_ = Clock::now();
  }

  bool start_posted() {
    std::vector<MpiMessage> posted;
    {
      const std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (const MpiMessage& message : posted) {
      if (!messages_->start(message)) break;
    }
    return !posted.empty();
  }

  bool make_progress() {
    bool finished = false;
    for (int i = 0; i < kProgressCallsPerPoll; ++i) finished = finish_transfers() || finished;
    return finished;
  }

  bool finish_transfers() {
    bool finished = false;
    const std::vector<std::shared_ptr<MpiTransfer>> done = messages_->finish(finished);
    if (done.empty()) return finished;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& transfer : done) transfer->done = true;
    }
    changed_.notify_all();
    return true;
  }

  void poll() {
    if (size_ == 1) return;
    while (const std::optional<ControlMessage> message = control_->poll()) {
      if (!handle(*message)) return;
    }
    std::string silent;
    {
      const std::lock_guard lock(mutex_);
      check_ping_deadline();
      if (awake_.now() - last_heard_ < silence_) return;
      silent =
          predecessor_status(fmt::format("silent for {:.1f} s", seconds_awake_since(last_heard_)));
    }
    poison(silent);
  }

  double seconds_awake_since(Clock::time_point start) const {
    return std::chrono::duration<double>(awake_.now() - start).count();
  }

  // Returns the predecessor in the ring of ranks. This rank monitors the heartbeats of its
  // predecessor.
  int predecessor() const { return (rank_ + size_ - 1) % size_; }

  // Handles a control message. Returns false if the message aborts the world; no further messages
  // are read then.
  bool handle(const ControlMessage& message) {
    if (message.kind == ControlMessage::Kind::poison) {
      {
        const std::lock_guard lock(mutex_);
        if (!poison_.empty()) return false;
        poison_ = message.text;
        // Relay the abort message, because its originator may have ended before notifying all
        // ranks.
        abort_targets_ = AbortTargets::some;
      }
      changed_.notify_all();
      return false;
    }
    if (message.kind == ControlMessage::Kind::left) {
      leave_notice_of(message.rank) = {message, awake_.now()};
    }
    if (message.kind == ControlMessage::Kind::ping) ping_received_ = true;
    if (message.rank == predecessor()) {
      last_heard_ = awake_.now();
      const std::chrono::duration<double> lasts(message.phase_seconds);
      const std::lock_guard lock(mutex_);
      predecessor_phase_ = message.text;
      predecessor_phase_since_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(lasts);
      pending_ping_.reset();
    }
    return true;
  }

  // Poisons the world if a pending message can no longer arrive because the other rank has left.
  void check_departed_ranks() {
    for (const MpiMessages::Piece& piece : messages_->in_flight()) {
      const std::optional<LeaveNotice>& left = leave_notice_of(piece.other);
      if (!left) continue;
      const MpiMessages::Counts& ours = messages_->counts(piece.other);
      const bool unmatched = piece.send ? left->message.received < ours.sent  //
                                        : left->message.sent == ours.received;
      // If the counts match, the piece is normally still in transit. It is not in transit if the
      // counted pieces were sent on a channel on which nothing is received; the timeout handles
      // this case.
      if (!unmatched && awake_.now() - left->at < silence_) continue;
      return poison(fmt::format(
          "{} has left while other ranks wait for it; it was last in {}, which began {:.1f} "
          "s ago",
          describe_rank(*this, piece.other), left->message.text,
          left->message.phase_seconds + seconds_awake_since(left->at)));
    }
  }

  std::optional<LeaveNotice>& leave_notice_of(int rank) {
    return leave_notices_[static_cast<std::size_t>(rank)];
  }

  // Sends a pending ping to the predecessor. Since every rank pings its predecessor, every rank is
  // checked by another rank.
  void ping_predecessor() {
    // Ranks that are about to exit do not answer pings.
    if (leave_ != MPI_REQUEST_NULL) return;
    {
      const std::lock_guard lock(mutex_);
      if (!pending_ping_ || pending_ping_->sent) return;
      pending_ping_->sent = true;
      pending_ping_->deadline = Clock::now() + pending_ping_->within;
    }
    control_->send(make_message(ControlMessage::Kind::ping), predecessor());
  }

  // Sends a heartbeat to the next rank, which monitors this one.
  void send_heartbeat() {
    const Clock::time_point now = Clock::now();
    if (size_ == 1 || leave_ != MPI_REQUEST_NULL) return;
    // Announce a new phase immediately, unless phases are shorter than kMinHeartbeatInterval.
    {
      const std::lock_guard lock(mutex_);
      const bool new_phase = phase_since_ > last_heartbeat_;
      if (!ping_received_ &&
          now - last_heartbeat_ < (new_phase ? kMinHeartbeatInterval : silence_ / 8))
        return;
    }
    if (!control_->all_sent(ControlMessage::Kind::heartbeat)) return;
    last_heartbeat_ = now;
    ping_received_ = false;
    control_->send(make_message(ControlMessage::Kind::heartbeat), (rank_ + 1) % size_);
  }

  ControlMessage make_message(ControlMessage::Kind kind) const {
    const std::lock_guard lock(mutex_);
    return {.kind = kind,
            .rank = rank_,
            .phase_seconds = seconds_since(phase_since_),
            .text = kind == ControlMessage::Kind::poison ? poison_ : phase_};
  }

  // Sends the abort messages. MPI is not finalised after an abort, because other ranks may no
  // longer exist.
  void send_abort() {
    std::vector<int> others;
    {
      const std::lock_guard lock(mutex_);
      if (abort_targets_ == AbortTargets::some) others = broadcast_targets(rank_, size_);
      for (int r = 0; abort_targets_ == AbortTargets::all && r < size_; ++r) others.push_back(r);
    }
    for (const int r : others) {
      if (r != rank_) control_->send(make_message(ControlMessage::Kind::poison), r);
    }
    const Clock::time_point end = Clock::now() + kAbortFlushTimeout;
    while (!control_->all_sent(ControlMessage::Kind::poison) && Clock::now() < end)
      std::this_thread::sleep_for(kBusyPollInterval);
    if (!leave_sent_) return;
    {
      const std::lock_guard lock(mutex_);
      if (leave_called_) return;
    }
    // This process has no error to report. If it exited first, the launcher would end the other
    // processes before they can report their errors.
    std::this_thread::sleep_for(kExitDelayAfterLeave);
  }

  // Returns true once all ranks have left.
  bool all_left() {
    {
      const std::lock_guard lock(mutex_);
      if (!leaving_ || !posted_.empty()) return false;
    }
    if (!messages_->idle() || !exchange_leave_messages()) return false;
    // The barrier is nonblocking: until all ranks have left, a rank may still fail, so this rank
    // must keep handling control messages.
    if (leave_ == MPI_REQUEST_NULL) mpi_ok(*this, MPI_Ibarrier(data_, &leave_), "a barrier");
    int all = 0;
    if (!mpi_ok(*this, MPI_Test(&leave_, &all, MPI_STATUS_IGNORE), "a barrier") || all == 0)
      return false;
    control_->cancel_receive();
    MPI_Comm_free(&data_);
    MPI_Comm_free(&control_comm_);
    MPI_Finalize();
    return true;
  }

  // Notifies all other ranks that this rank has left. Returns true once all other ranks have left
  // as well and all control messages of this rank have been sent.
  bool exchange_leave_messages() {
    for (int r = 0; r < size_ && !leave_sent_; ++r) {
      if (r == rank_) continue;
      ControlMessage message = make_message(ControlMessage::Kind::left);
      message.sent = messages_->counts(r).sent;
      message.received = messages_->counts(r).received;
      control_->send(message, r);
    }
    leave_sent_ = true;
    for (int r = 0; r < size_; ++r) {
      if (r != rank_ && !leave_notice_of(r)) return false;
    }
    return control_->all_sent(ControlMessage::Kind::left) &&
           control_->all_sent(ControlMessage::Kind::heartbeat) &&
           control_->all_sent(ControlMessage::Kind::ping);
  }

  void pause() {
    std::unique_lock lock(mutex_);
    if (!posted_.empty() || abort_targets_ != AbortTargets::none) return;
    const bool in_flight = !messages_->in_flight().empty();
    if (in_flight && waiting_ > 0) {  // the core of the waiting thread is idle
      if (Clock::now() - waiting_since_ >= kSpinDuration) {
        posted_something_.wait_for(lock, kWaitingPollInterval);
        return;
      }
      lock.unlock();
      return std::this_thread::yield();
    }
    const bool busy = in_flight || leave_ != MPI_REQUEST_NULL;
    posted_something_.wait_for(lock, busy ? kBusyPollInterval : kIdlePollInterval);
  }

  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;           // a transfer is done, or the world is poisoned
  std::condition_variable posted_something_;  // the MPI thread has work
  bool started_ = false, leaving_ = false;
  bool leave_called_ = false;  // leave() was called, so this rank reports errors
  AbortTargets abort_targets_ =
      AbortTargets::none;  // `all` if this rank is the origin of the abort
  std::string poison_;
  std::optional<PendingPing> pending_ping_;      // set while the predecessor has not answered
  std::string predecessor_phase_ = "the start";  // the phase of the predecessor
  Clock::time_point predecessor_phase_since_ = Clock::now();
  std::string phase_ = "the start";
  Clock::time_point phase_since_ = Clock::now();
  std::vector<MpiMessage> posted_;
  int waiting_ = 0;  // the number of threads in wait()
  Clock::time_point waiting_since_;

  // Used only by the thread that owns MPI.
  MPI_Comm data_ = MPI_COMM_NULL, control_comm_ = MPI_COMM_NULL;
  std::optional<MpiMessages> messages_;                    // set once MPI is initialised
  std::optional<MpiControlMessages> control_;              // set once MPI is initialised
  std::vector<std::optional<LeaveNotice>> leave_notices_;  // by rank
  std::chrono::milliseconds silence_;
  AwakeClock awake_{std::chrono::seconds(1)};
  MPI_Request leave_ = MPI_REQUEST_NULL;
  bool leave_sent_ = false;
  Clock::time_point last_heard_, last_heartbeat_;
  bool ping_received_ = false;  // the next rank has sent a ping; the next heartbeat will answer it
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Transport> connect_mpi(const MpiOptions& options) {
  static std::atomic<bool> connected{false};
  if (connected.exchange(true))
    throw StateError(
        "connect_mpi: this process is already connected, and MPI can be initialised only once");
  return std::make_shared<MpiTransport>(options);
}

}  // namespace weft
