// Signals that stop a training run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "weft/core/world/world.h"
#include "weft/models/training/trainer.h"

namespace weft::program {

/// True once a signal has requested a stop.
const std::atomic<bool>& stop_requested();

/// Installs the signal handlers. The first Ctrl-C (or SIGTERM) requests a clean stop, a second one
/// kills the process. A closed terminal (SIGHUP) and a closed stdout pipe (SIGPIPE) are also
/// treated as stop requests. Repeated signals of these two types do not kill the process, because
/// shells send SIGHUP twice. With several ranks, a request on any rank stops all ranks; launchers
/// forward SIGUSR1 to all ranks.
void install_stop_handlers(const World& world);

/// Detects that the launcher is terminating the run, if there are several ranks. A launcher that
/// has lost a rank sends SIGTERM to the other ranks and kills them shortly afterwards (Open MPI
/// after one second), while they are still waiting for the lost rank. After SIGTERM, this class
/// pings all ranks to find the lost one, prints the result and exits. If all ranks respond but no
/// step completes, the ranks cannot have agreed to stop and save. In this case, a message is
/// printed and the process exits as well.
class LauncherWatch : public TrainObserver {
 public:
  explicit LauncherWatch(const World& world);
  ~LauncherWatch() override;
  LauncherWatch(const LauncherWatch&) = delete;
  LauncherWatch& operator=(const LauncherWatch&) = delete;

  void on_step(const StepReport&) override { ++steps_; }
  void on_skip(const SkipReport&) override { ++steps_; }

 private:
  void watch();
  /// Waits for `seconds` seconds. Returns false if the watch ends earlier.
  bool pause(double seconds);

  const World world_;
  std::atomic<std::int64_t> steps_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace weft::program
