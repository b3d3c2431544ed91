#include "weft/models/program/terminal/stop_signals.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "weft/models/program/terminal/failure.h"

namespace weft::program {
namespace {

std::atomic<bool> stop{false};
std::atomic<bool> launcher_terminates{false};  // the parent process sent SIGTERM

void on_signal(int signal, siginfo_t* from, void*) {
  if (signal == SIGTERM && from->si_pid == getppid()) launcher_terminates.store(true);
  stop.store(true);
}

/// Returns how long Open MPI's launcher waits before it kills the ranks.
double kill_grace_seconds() {
  const char* asked = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  const double seconds = asked == nullptr ? 0 : std::strtod(asked, nullptr);
  return seconds > 0 ? seconds : 1;
}

}  // namespace

const std::atomic<bool>& stop_requested() { return stop; }

void install_stop_handlers(const World& world) {
  const auto install = [](int signal, int flags) {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = flags | SA_SIGINFO;
    sigaction(signal, &action, nullptr);
  };
  install(SIGINT, static_cast<int>(SA_RESETHAND));
  install(SIGTERM, static_cast<int>(SA_RESETHAND));
  if (world.size() > 1) install(SIGUSR1, SA_RESTART);
  install(SIGPIPE, SA_RESTART);
  struct sigaction hangup = {};
  const bool nohup = sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!nohup) install(SIGHUP, SA_RESTART);
}

LauncherWatch::LauncherWatch(const World& world) : world_(world) {
  if (world.size() > 1) thread_ = std::thread([this] { watch(); });
}

LauncherWatch::~LauncherWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool LauncherWatch::pause(double seconds) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return over_; });
}

void LauncherWatch::watch() {
  constexpr double kLook = 0.05;
  while (!launcher_terminates.load()) {
    if (!pause(kLook)) return;
  }
  const std::int64_t before = steps_.load();
  const double grace = kill_grace_seconds();
  world_.transport()->ping(std::chrono::milliseconds(static_cast<int>(350 * grace)));
  // Wait for half of the grace period, so that ranks with more information can report the cause.
  if (!pause(0.5 * grace)) return;
  // One step may already have been in progress. If a second step completes, all ranks have agreed
  // to stop.
  const std::string known = world_.transport()->poisoned();
  if (known.empty() && steps_.load() > before + 1) return;
  const Failure failure{
      Failure::Kind::run,
      known.empty()
          ? "the launcher is terminating this run (SIGTERM), and no step has completed since then: "
            "another rank was lost, or the launcher was interrupted; the last checkpoint is intact"
          : known};
  failure.print();
  std::_Exit(failure.code());
}

}  // namespace weft::program
