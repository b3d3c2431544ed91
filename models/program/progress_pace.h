// Decides when a log gets a progress line.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::program {

/// Schedules about twenty lines per run, and at least one per minute, so that a run of hours is
/// visibly alive. The first step passed to due() has a line (a resumed run may start at any step),
/// and so has the last step.
class ProgressPace {
 public:
  static constexpr double kSeconds = 60;

  /// Returns true if completed step `step` of `steps` gets a line. `time` is in seconds on any
  /// clock.
  bool due(std::int64_t step, std::int64_t steps, double time) {
    const std::int64_t every = std::max<std::int64_t>(1, steps / 20);
    const bool now = !started_ || step % every == 0 || step == steps || time - last_ >= kSeconds;
    if (now) last_ = time;
    started_ = true;
    return now;
  }

 private:
  bool started_ = false;
  double last_ = 0;
};

}  // namespace weft::program
