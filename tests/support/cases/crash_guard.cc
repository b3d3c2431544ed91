#include "weft/tests/support/cases/crash_guard.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include <array>
#include <cmath>
#include <memory>

namespace weft::testing {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// State of the signal handlers, which cannot receive arguments of their own.
struct Watched {
  sigjmp_buf jump;
  pthread_t thread;
  const char* description;
  volatile int signal;
  void* volatile address;
};
Watched* watched = nullptr;

void say(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

[[noreturn]] void give_up(const char* why) {
  say(why);
  say(watched->description);
  say("\n");
  _exit(3);
}

void on_crash(int signal, siginfo_t* info, void*) {
  if (pthread_equal(pthread_self(), watched->thread) == 0) give_up("\ncrash on a worker thread: ");
  watched->signal = signal;
  watched->address = info->si_addr;
  siglongjmp(watched->jump, 1);
}

void on_time_out(int) { give_up("\nthe CPU time limit was exceeded in: "); }

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    default: return "SIGILL";
  }
}

void set_timer(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// Keeps the signal handlers, their alternate stack and the timer installed while it exists.
class Handlers {
 public:
  explicit Handlers(double cpu_seconds) {
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = kStackBytes;
    sigaltstack(&stack, &old_stack_);
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &old_[i]);
    struct sigaction late {};
    late.sa_handler = on_time_out;
    late.sa_flags = SA_ONSTACK;
    sigemptyset(&late.sa_mask);
    sigaction(SIGPROF, &late, &old_late_);
    set_timer(cpu_seconds);
  }
  ~Handlers() {
    set_timer(0);
    sigaction(SIGPROF, &old_late_, nullptr);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_[i], nullptr);
    sigaltstack(&old_stack_, nullptr);
    watched = nullptr;
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  static constexpr std::size_t kStackBytes = 64 << 10;
  std::unique_ptr<char[]> memory_ = std::make_unique<char[]>(kStackBytes);
  stack_t old_stack_{};
  std::array<struct sigaction, kSignals.size()> old_{};
  struct sigaction old_late_ {};
};

}  // namespace

std::optional<std::string> crash_of(const std::string& description, double cpu_seconds,
                                    const std::function<void()>& body) {
  Watched state{};
  state.thread = pthread_self();
  state.description = description.c_str();
  watched = &state;
  const Handlers handlers(cpu_seconds);
  if (sigsetjmp(state.jump, 1) == 0) {
    body();
    return std::nullopt;
  }
  return fmt::format("{} at {}", name_of(state.signal), fmt::ptr(state.address));
}

}  // namespace weft::testing
