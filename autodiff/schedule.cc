#include "weft/autodiff/schedule.h"

#include <fmt/format.h>

#include <numbers>

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {
namespace {

void check(double base, double warmup, const WarmupOptions& options, SourceLocation loc) {
  require_option("schedule", "base (the learning rate)", base, Allowed::not_negative, loc);
  require_option("schedule", "warmup", warmup, Allowed::not_negative, loc);
  require_option("schedule", "final", options.final, Allowed::not_negative, loc);
  require_option("schedule", "shift", options.shift, Allowed::not_negative, loc);
}

void check_total(double warmup, double total, SourceLocation loc) {
  require_option("schedule", "total", total, Allowed::positive, loc);
  if (total > warmup) return;
  throw ArgumentError(
      fmt::format("schedule: a warm-up of {} steps must end before the total of {} steps\n  at {}",
                  warmup, total, loc.str()));
}

// `after` is the schedule after the warm-up, as a function of k.
Schedule with_warmup(double base, double warmup, double shift, Schedule::Function after) {
  return Schedule([=](Value step) -> Value {
    const Value k = step + shift;
    if (warmup <= 0) return after(k);
    return where(k < warmup, k * (base / warmup), after(k));
  });
}

// Returns (k - warmup) / (total - warmup), clamped to [0, 1].
Value progress(Value k, double warmup, double total) {
  return clamp((k - warmup) / (total - warmup), 0.0, 1.0);
}

}  // namespace

Schedule::Schedule(double constant, SourceLocation loc)
    : function_([constant](Value step) { return step.graph().scalar(DType::f64, constant); }) {
  require_option("schedule", "a constant learning rate", constant, Allowed::not_negative, loc);
}

Schedule constant_schedule(double base, double warmup, const WarmupOptions& options,
                           SourceLocation loc) {
  check(base, warmup, options, loc);
  return with_warmup(base, warmup, options.shift,
                     [base](Value k) { return k.graph().scalar(DType::f64, base); });
}

Schedule linear_schedule(double base, double warmup, double total, const WarmupOptions& options,
                         SourceLocation loc) {
  check(base, warmup, options, loc);
  check_total(warmup, total, loc);
  const double final = options.final;
  return with_warmup(base, warmup, options.shift,
                     [=](Value k) { return base + (final - base) * progress(k, warmup, total); });
}

Schedule warmup_cosine(double base, double warmup, double total, const WarmupOptions& options,
                       SourceLocation loc) {
  check(base, warmup, options, loc);
  check_total(warmup, total, loc);
  const double final = options.final;
  return with_warmup(base, warmup, options.shift, [=](Value k) {
    const Value phase = progress(k, warmup, total) * std::numbers::pi;
    return final + (base - final) * 0.5 * (1.0 + cos(phase));
  });
}

Schedule inverse_square_root(double base, double warmup, const WarmupOptions& options,
                             SourceLocation loc) {
  check(base, warmup, options, loc);
  if (warmup <= 0 || options.final != 0) {
    throw ArgumentError(
        fmt::format("schedule: inverse_square_root needs a positive warm-up and a final rate of 0, "
                    "but warm-up is {} and final is {}\n  at {}",
                    warmup, options.final, loc.str()));
  }
  return with_warmup(base, warmup, options.shift,
                     [=](Value k) { return base * sqrt(warmup / maximum(k, warmup)); });
}

Schedule relative_step_size(const RelativeStepOptions& options) {
  return Schedule([=](Value step) -> Value {
    const Value t = step + 1.0, falling = 1.0 / sqrt(t);
    return options.warmup_init ? minimum(t * 1e-6, falling) : minimum(1e-2, falling);
  });
}

}  // namespace weft
