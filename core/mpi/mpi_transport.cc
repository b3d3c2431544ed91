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
#include "weft/core/mpi/mpi_messages.h"
#include "weft/core/mpi/mpi_words.h"
#include "weft/core/world/awake_clock.h"
#include "weft/core/world/word.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at what is on its way, while nobody waits for it: the machine's cores are for
// the workers, of which every look interrupts one, on virtual machines for some 10 us.
constexpr std::chrono::microseconds kBusyPause{1000}, kIdlePause{2000};
// The same while somebody waits for long: for a slow link, or a disk. Before that there is none.
constexpr std::chrono::microseconds kWaitingPause{30};
constexpr std::chrono::milliseconds kEager{1000};
// Where MPI moves a message in fragments it moves one or two at a time: so many times a look.
constexpr int kMovesPerLook = 16;
constexpr std::chrono::milliseconds kNewsPause{20};
// Those who hear of the end need to be told before this process goes.
constexpr std::chrono::milliseconds kFarewell{500};
// What others have to say, before a process goes that has left already.
constexpr std::chrono::milliseconds kLastWords{2000};

// What a rank said when it left, and when, by the clock of who heard it.
struct Farewell {
  Word word;
  Clock::time_point at;
};

// Whether the rank that this one listens to is there.
struct Question {
  std::chrono::milliseconds within;
  Clock::time_point answer_by;
  bool asked = false;
};

// Whom a rank tells that the world ends.
enum class Tell { nobody, some, all };

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

#ifdef MPICH_VERSION
// Where one process fails, MPICH's launcher goes on waiting for those on other machines, perhaps
// for one that does not answer any more: it wants to be told. Then it passes on nothing of what it
// has not read by then, so that what this process had to say is given a moment. Where the launcher
// cannot be reached itself, this process ends by a signal.
void end_all_at_exit() {
  const auto end_all = [] {
    std::fflush(nullptr);
    std::this_thread::sleep_for(kFarewell);
    constexpr unsigned kSeconds = 2;
    std::signal(SIGALRM, SIG_DFL);
    alarm(kSeconds);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  };
  std::atexit(end_all);
}
#else
void end_all_at_exit() {}  // Open MPI's ends them
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
    // MPI reads it only.
    return post({true, to, channel, const_cast<std::byte*>(bytes.data()), bytes.size()});
  }
  Transfer pass_on(const Transfer& received, int to, int channel,
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
      settle_question();
      check();
      return state == nullptr || state->done;
    };
    if (over()) return;
    const WaitingCount waiting(*this);
    while (!over()) {
      if (question_) {
        changed_.wait_until(lock, question_->answer_by);
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
      tell_ = Tell::all;
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
      says_ = true;
    }
    if (thread_.joinable()) finish();
    check();
  }
  void ask(std::chrono::milliseconds within) override {
    {
      const std::lock_guard lock(mutex_);
      if (size_ == 1 || question_) return;
      question_ = {.within = within, .answer_by = Clock::now() + within};
    }
    changed_.notify_all();
  }

 private:
  // Counts those who wait, for as long as it lives: under the lock.
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

  // Under the lock: poisons the world where nobody has answered. Who waits looks, too: MPI may keep
  // its own thread for long (Open MPI's, with what it has to say of a process that is gone); with
  // two ranks it is clear of which one, before the question is asked.
  void settle_question() {
    if (!question_ || Clock::now() < question_->answer_by || !poison_.empty()) return;
    if (!question_->asked && size_ > 2) {
      question_->answer_by = Clock::now() + question_->within;
      return;
    }
    poison_ = before_is("lost");
    tell_ = Tell::all;
    changed_.notify_all();
    posted_something_.notify_all();
  }

  // Under the lock: the line about the rank that this one listens to.
  std::string before_is(std::string_view how) const {
    return fmt::format("{} is {}; it was in {}, which began {:.1f} s ago",
                       describe_rank(*this, before()), how, phase_of_before_,
                       seconds_since(phase_of_before_since_));
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

  // All below: on the thread that owns MPI.

  void main() {
    start();
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
      if (!poison_.empty()) tell_ = Tell::nobody;
    }
    changed_.notify_all();
    if (data_ == MPI_COMM_NULL) return;
    while (true) {
      awake_.look();
      const bool started = start_posted(), finished = move_active();
      hear();
      look_for_left();
      ask_before();
      say_alive();
      if (!poisoned().empty()) return end_poisoned();
      if (all_left()) return;
      if (!started && !finished) pause();
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
    MPI_Comm_dup(MPI_COMM_WORLD, &words_comm_);
    for (const MPI_Comm comm : {data_, words_comm_, MPI_COMM_WORLD, MPI_COMM_SELF})
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
    // Who speaks more seldom than others want to hear would be taken for lost.
    std::int64_t silence = silence_.count();
    MPI_Bcast(&silence, 1, MPI_INT64_T, 0, data_);
    silence_ = std::chrono::milliseconds(silence);
    farewells_heard_.resize(hosts_.size());
    messages_.emplace(data_, *this);
    words_.emplace(words_comm_, *this);
    awake_ = AwakeClock(silence_ / 8);
    last_heard_ = awake_.now();
    last_said_ = Clock::now();
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

  bool move_active() {
    bool finished = false;
    for (int i = 0; i < kMovesPerLook; ++i) finished = finish_active() || finished;
    return finished;
  }

  bool finish_active() {
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

  void hear() {
    if (size_ == 1) return;
    while (const std::optional<Word> word = words_->hear()) {
      if (!take(*word)) return;
    }
    std::string silent;
    {
      const std::lock_guard lock(mutex_);
      settle_question();
      if (awake_.now() - last_heard_ < silence_) return;
      silent = before_is(fmt::format("silent for {:.1f} s", seconds_awake_since(last_heard_)));
    }
    poison(silent);
  }

  double seconds_awake_since(Clock::time_point start) const {
    return std::chrono::duration<double>(awake_.now() - start).count();
  }

  // The rank that this one listens to.
  int before() const { return (rank_ + size_ - 1) % size_; }

  // False where it is the last.
  bool take(const Word& word) {
    if (word.kind == Word::Kind::poison) {
      {
        const std::lock_guard lock(mutex_);
        if (!poison_.empty()) return false;
        poison_ = word.text;
        // Whoever said so first may be gone before it has told all.
        tell_ = Tell::some;
      }
      changed_.notify_all();
      return false;
    }
    if (word.kind == Word::Kind::left) {
      farewell_of(word.rank) = {word, awake_.now()};
    }
    if (word.kind == Word::Kind::question) wanted_ = true;
    if (word.rank == before()) {
      last_heard_ = awake_.now();
      const std::chrono::duration<double> lasts(word.phase_seconds);
      const std::lock_guard lock(mutex_);
      phase_of_before_ = word.text;
      phase_of_before_since_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(lasts);
      question_.reset();
    }
    return true;
  }

  // Poisons the world where a message cannot come any more, or arrive.
  void look_for_left() {
    for (const MpiMessages::Piece& piece : messages_->under_way()) {
      const std::optional<Farewell>& left = farewell_of(piece.other);
      if (!left) continue;
      const MpiMessages::Counts& ours = messages_->counts(piece.other);
      const bool in_vain = piece.send ? left->word.received < ours.sent  //
                                      : left->word.sent == ours.received;
      // Otherwise it is on its way, unless what was sent is on a channel that nobody listens to.
      if (!in_vain && awake_.now() - left->at < silence_) continue;
      return poison(
          fmt::format("{} has left, and others wait for it; it was last in {}, which began {:.1f} "
                      "s ago",
                      describe_rank(*this, piece.other), left->word.text,
                      left->word.phase_seconds + seconds_awake_since(left->at)));
    }
  }

  std::optional<Farewell>& farewell_of(int rank) {
    return farewells_heard_[static_cast<std::size_t>(rank)];
  }

  // Every rank asks the one that it listens to: so somebody asks each.
  void ask_before() {
    // A rank that is about to end has no answer.
    if (leave_ != MPI_REQUEST_NULL) return;
    {
      const std::lock_guard lock(mutex_);
      if (!question_ || question_->asked) return;
      question_->asked = true;
      question_->answer_by = Clock::now() + question_->within;
    }
    words_->say(own_word(Word::Kind::question), before());
  }

  // To the next rank, which listens to this one.
  void say_alive() {
    const Clock::time_point now = Clock::now();
    if (size_ == 1 || leave_ != MPI_REQUEST_NULL) return;
    // A new phase is told at once, unless phases are short.
    {
      const std::lock_guard lock(mutex_);
      const bool news = phase_since_ > last_said_;
      if (!wanted_ && now - last_said_ < (news ? kNewsPause : silence_ / 8)) return;
    }
    if (!words_->said(Word::Kind::alive)) return;
    last_said_ = now;
    wanted_ = false;
    words_->say(own_word(Word::Kind::alive), (rank_ + 1) % size_);
  }

  Word own_word(Word::Kind kind) const {
    const std::lock_guard lock(mutex_);
    return {.kind = kind,
            .rank = rank_,
            .phase_seconds = seconds_since(phase_since_),
            .text = kind == Word::Kind::poison ? poison_ : phase_};
  }

  // MPI cannot be finalised any more: somebody may be gone.
  void end_poisoned() {
    std::vector<int> others;
    {
      const std::lock_guard lock(mutex_);
      if (tell_ == Tell::some) others = who_is_told(rank_, size_);
      for (int r = 0; tell_ == Tell::all && r < size_; ++r) others.push_back(r);
    }
    for (const int r : others) {
      if (r != rank_) words_->say(own_word(Word::Kind::poison), r);
    }
    const Clock::time_point end = Clock::now() + kFarewell;
    while (!words_->said(Word::Kind::poison) && Clock::now() < end)
      std::this_thread::sleep_for(kBusyPause);
    if (!said_farewell_) return;
    {
      const std::lock_guard lock(mutex_);
      if (says_) return;
    }
    // A process that has nothing to say would be the first to go, and launchers end the others
    // then.
    std::this_thread::sleep_for(kLastWords);
  }

  // True once all ranks have left.
  bool all_left() {
    {
      const std::lock_guard lock(mutex_);
      if (!leaving_ || !posted_.empty()) return false;
    }
    if (!messages_->idle() || !said_left()) return false;
    // Until all have left, one of them may fail, and this rank is listened to.
    if (leave_ == MPI_REQUEST_NULL) mpi_good(*this, MPI_Ibarrier(data_, &leave_), "a barrier");
    int all = 0;
    if (!mpi_good(*this, MPI_Test(&leave_, &all, MPI_STATUS_IGNORE), "a barrier") || all == 0)
      return false;
    words_->stop_listening();
    MPI_Comm_free(&data_);
    MPI_Comm_free(&words_comm_);
    MPI_Finalize();
    return true;
  }

  // Tells all others that this rank has left. True once they have as well, and nothing that this
  // one has said is on its way.
  bool said_left() {
    for (int r = 0; r < size_ && !said_farewell_; ++r) {
      if (r == rank_) continue;
      Word word = own_word(Word::Kind::left);
      word.sent = messages_->counts(r).sent;
      word.received = messages_->counts(r).received;
      words_->say(word, r);
    }
    said_farewell_ = true;
    for (int r = 0; r < size_; ++r) {
      if (r != rank_ && !farewell_of(r)) return false;
    }
    return words_->said(Word::Kind::left) && words_->said(Word::Kind::alive) &&
           words_->said(Word::Kind::question);
  }

  void pause() {
    std::unique_lock lock(mutex_);
    if (!posted_.empty() || tell_ != Tell::nobody) return;
    const bool under_way = !messages_->under_way().empty();
    if (under_way && waiting_ > 0) {  // somebody's core is idle
      if (Clock::now() - waiting_since_ >= kEager) {
        posted_something_.wait_for(lock, kWaitingPause);
        return;
      }
      lock.unlock();
      return std::this_thread::yield();
    }
    const bool busy = under_way || leave_ != MPI_REQUEST_NULL;
    posted_something_.wait_for(lock, busy ? kBusyPause : kIdlePause);
  }

  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;           // a transfer is done, or the world ends
  std::condition_variable posted_something_;  // the thread has work
  bool started_ = false, leaving_ = false;
  bool says_ = false;         // leave() throws what the world ends with
  Tell tell_ = Tell::nobody;  // all where this rank is the first to say that the world ends
  std::string poison_;
  std::optional<Question> question_;           // the rank that this one listens to has not answered
  std::string phase_of_before_ = "the start";  // of that rank
  Clock::time_point phase_of_before_since_ = Clock::now();
  std::string phase_ = "the start";
  Clock::time_point phase_since_ = Clock::now();
  std::vector<MpiMessage> posted_;
  int waiting_ = 0;  // in wait()
  Clock::time_point waiting_since_;

  // Of the thread.
  MPI_Comm data_ = MPI_COMM_NULL, words_comm_ = MPI_COMM_NULL;
  std::optional<MpiMessages> messages_;                   // once MPI has started
  std::optional<MpiWords> words_;                         // and this
  std::vector<std::optional<Farewell>> farewells_heard_;  // by rank
  std::chrono::milliseconds silence_;
  AwakeClock awake_{std::chrono::seconds(1)};
  MPI_Request leave_ = MPI_REQUEST_NULL;
  bool said_farewell_ = false;
  Clock::time_point last_heard_, last_said_;
  bool wanted_ = false;  // the next rank has asked
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
