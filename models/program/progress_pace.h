// When a log gets a line of progress.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::program {

/// Some twenty lines in a run, and one a minute at least: a run of hours is seen to be alive. The
/// first step that it is asked about has a line (a resumed run starts anywhere), and so has the
/// last.
class ProgressPace {
 public:
  static constexpr double kSeconds = 60;

  /// Whether completed step `step` of `steps` has a line, at that time in seconds on any clock.
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
