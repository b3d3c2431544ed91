#include "weft/tests/bench/fma_peak.h"

#include <ctime>

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/tests/bench/fma_peak.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come before.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weft::bench {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Enough chains to hide the latency of two units (4 or 5 cycles each), few enough for 16 registers.
constexpr int kChains = 12;

// Returns the floating-point operations that it did. x -> x * 0.5 + 0.5 stays near 1.
template <class T>
double fma_chains(std::int64_t steps, T* out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V half = hn::Set(d, T(0.5));
  V sum[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sum[i] = hn::Set(d, static_cast<T>(i));
  for (std::int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(sum[i], half, half);
  }
  V total = sum[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) total = hn::Add(total, sum[i]);
  *out += hn::GetLane(total);
  return 2.0 * kChains * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}
double fma_chains_f32(std::int64_t steps, float* out) { return fma_chains(steps, out); }
double fma_chains_f64(std::int64_t steps, double* out) { return fma_chains(steps, out); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::bench {
namespace {

HWY_EXPORT(fma_chains_f32);
HWY_EXPORT(fma_chains_f64);

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double measure_fma_peak(DType dtype) {
  constexpr int tries = 10;
  constexpr std::int64_t steps = 1'000'000;
  double best = 0;
  float sink_f32 = 0;
  double sink_f64 = 0;
  for (int i = 0; i < tries; ++i) {
    const double start = thread_seconds();
    const double done = dtype == DType::f64
                            ? HWY_DYNAMIC_DISPATCH(fma_chains_f64)(steps, &sink_f64)
                            : HWY_DYNAMIC_DISPATCH(fma_chains_f32)(steps, &sink_f32);
    best = std::max(best, done / (thread_seconds() - start));
  }
  // Never true; keeps the chains alive.
  return sink_f32 + sink_f64 < -1 ? 0 : best;
}

}  // namespace weft::bench
#endif  // HWY_ONCE
