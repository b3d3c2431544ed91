// Signals that end a training.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "weft/core/world/world.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

/// Whether a signal has asked for an end.
const std::atomic<bool>& stop_requested();

/// The first Ctrl-C (or SIGTERM) asks for a clean end, a second one kills. A terminal that closes
/// and a reader of stdout that goes away ask, too, as often as they like: shells send SIGHUP twice.
/// Of several ranks each may be asked, and all stop; launchers hand SIGUSR1 on to all of them.
void install_stop_handlers(const World& world);

/// Of several ranks: a launcher that has lost one ends the others by SIGTERM and kills them a
/// moment later (Open MPI's after a second), while they still wait for the lost one. This asks who
/// is lost; where all are there, and yet no steps end after that signal, so that nobody can have
/// agreed to stop and save, it says so and ends the process.
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
  /// False where it is over before.
  bool pause(double seconds);

  const World world_;
  std::atomic<std::int64_t> steps_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace weft::program
