// Signals that stop a training run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "weft/core/world/world.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

/// True once a signal has requested a stop.
const std::atomic<bool>& stop_requested();

/// Installs the signal handlers. The first Ctrl-C (or SIGTERM) requests a clean stop, a second one
/// kills the process. A terminal that closes (SIGHUP) and a reader of stdout that goes away
/// (SIGPIPE) are also treated as stop requests and may repeat: shells send SIGHUP twice. With
/// several ranks, a request on any of them stops all; launchers forward SIGUSR1 to all of them.
void install_stop_handlers(const World& world);

/// Detects that the launcher is ending the run, if there are several ranks. A launcher that has
/// lost a rank ends the others by SIGTERM and kills them a moment later (Open MPI after a second),
/// while they still wait for the lost rank. After that signal, the watch asks the transport which
/// rank is lost, prints the answer and ends the process. If all ranks respond and yet no step
/// completes, so that the ranks cannot have agreed to stop and save, it prints that and ends the
/// process as well.
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
  /// Waits for that time. Returns false if the watch is ended before.
  bool pause(double seconds);

  const World world_;
  std::atomic<std::int64_t> steps_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace weft::program
