// Learning-rate schedules, built as graph functions of the step variable.
#pragma once

#include <functional>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Learning rate as a function of the step, which is 0 in the first step. A number converts to a
/// constant schedule; any graph function of an f64 scalar can be a schedule. A default-constructed
/// Schedule is undefined.
class Schedule {
 public:
  using Function = std::function<Value(Value step)>;

  Schedule() = default;
  /// Throws ArgumentError if the rate is negative or not finite.
  Schedule(double constant,  // NOLINT(google-explicit-constructor)
           SourceLocation loc = SourceLocation::current());
  explicit Schedule(Function function) : function_(std::move(function)) {}

  bool defined() const { return function_ != nullptr; }
  /// Returns the rate (f64 scalar) at `step` (f64 scalar).
  Value operator()(Value step) const { return function_(step); }

 private:
  Function function_;
};

struct WarmupOptions {
  /// Rate at the end of the decay.
  double final = 0;
  /// Added to the step. With a shift of 1, the first step of a warm-up uses base / warmup instead
  /// of 0.
  double shift = 0;
};

// The functions below throw ArgumentError if a rate, the warm-up or the shift is negative or not
// finite, or if `total` does not exceed the warm-up.

/// Returns base * k / warmup while k = step + shift < warmup, then base.
Schedule constant_schedule(double base, double warmup = 0, const WarmupOptions& options = {},
                           SourceLocation loc = SourceLocation::current());
/// Returns a schedule with a warm-up, then a linear change from `base` to `final` at k = total,
/// then a constant rate.
Schedule linear_schedule(double base, double warmup, double total,
                         const WarmupOptions& options = {},
                         SourceLocation loc = SourceLocation::current());
/// Returns a schedule with a warm-up, then final + (base - final) * (1 + cos(pi * (k - warmup) /
/// (total - warmup))) / 2 until k = total, then a constant rate (Loshchilov and Hutter 2017,
/// without restarts).
Schedule warmup_cosine(double base, double warmup, double total, const WarmupOptions& options = {},
                       SourceLocation loc = SourceLocation::current());
/// Returns a schedule with a warm-up to `base`, then base * sqrt(warmup / k) for all later steps.
/// options.final must be 0, and warmup must be positive. Vaswani et al. (2017) use base = (width *
/// warmup)^-0.5 and shift = 1.
Schedule inverse_square_root(double base, double warmup, const WarmupOptions& options = {},
                             SourceLocation loc = SourceLocation::current());

struct RelativeStepOptions {
  /// Start with a rate of t * 1e-6.
  bool warmup_init = false;
};
/// Returns min(1e-2, 1 / sqrt(t)) with t = step + 1: step sizes relative to the magnitude of a
/// parameter, for adafactor() (Shazeer and Stern 2018).
Schedule relative_step_size(const RelativeStepOptions& options = {});

}  // namespace weft
