// A clock that excludes the time during which this process was stopped.
#pragma once

#include <algorithm>
#include <chrono>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A clock that must be ticked regularly and does not advance while the process is stopped. A
/// process that was stopped has received no messages in the meantime, which must not be
/// misinterpreted as the other processes being silent.
class AwakeClock {
 public:
  using Steady = std::chrono::steady_clock;

  /// The clock advances by at most `max_step` between two calls of tick().
  explicit AwakeClock(Steady::duration max_step, Steady::time_point now = Steady::now())
      : max_step_(max_step), last_(now), awake_(now) {}

  /// Advances the clock to `now`, but by at most `max_step`.
  void tick(Steady::time_point now = Steady::now()) {
    awake_ += std::min(now - last_, max_step_);
    last_ = now;
  }
  /// The time at the last tick(). Only differences between times of the same clock are meaningful.
  Steady::time_point now() const { return awake_; }

 private:
  Steady::duration max_step_;
  Steady::time_point last_, awake_;
};

}  // namespace weft
