// Decides when a progress line is printed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::program {

/// Schedules about twenty progress lines per run, and at least one per minute, so that the progress
/// of long runs is visible. A line is printed for the first step that is passed to due(), because a
/// resumed run may start at any step, and for the last step.
class ProgressPace {
 public:
  static constexpr double kSeconds = 60;

  /// Returns true if a line is due after step `step` of `steps`. `time` is in seconds since an
  /// arbitrary point in time.
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
