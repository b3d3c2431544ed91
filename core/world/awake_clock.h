// Time in which this process could act.
#pragma once

#include <algorithm>
#include <chrono>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A clock that is looked at often and stands still while nobody can: a process that was stopped,
/// and goes on, has not heard the others in all that time, but that says nothing about them.
class AwakeClock {
 public:
  using Steady = std::chrono::steady_clock;

  /// Between two looks pass `most` at most.
  explicit AwakeClock(Steady::duration most, Steady::time_point now = Steady::now())
      : most_(most), last_(now), awake_(now) {}

  void look(Steady::time_point now = Steady::now()) {
    awake_ += std::min(now - last_, most_);
    last_ = now;
  }
  /// At the last look. A number of seconds only where it is compared with others of this clock.
  Steady::time_point now() const { return awake_; }

 private:
  Steady::duration most_;
  Steady::time_point last_, awake_;
};

}  // namespace weft
