#include "weft/ops/kernels/targets/peak.h"

#include <time.h>

#include <chrono>

#include "weft/ops/kernels/integer/integer_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/targets/peak.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must be included before the headers below.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// This number of chains hides the latency of all current FMA units and fits into the AVX2
// registers.
constexpr int kChains = 12;

template <class T>
double FmaChains(long rounds) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<hn::ScalableTag<T>>;
  const V factor = hn::Set(d, static_cast<T>(0.999)), addend = hn::Set(d, static_cast<T>(0.001));
  V chain[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) chain[i] = hn::Set(d, static_cast<T>(i));
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chain[i] = hn::MulAdd(chain[i], factor, addend);
  }
  V sum = chain[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  // Use the result, so that the compiler does not remove the loop.
  volatile T sink = hn::GetLane(hn::SumOfLanes(d, sum));
  static_cast<void>(sink);
  return static_cast<double>(rounds) * kChains * 2 * static_cast<double>(hn::Lanes(d));
}
double FmaChainsF32(long rounds) { return FmaChains<float>(rounds); }
double FmaChainsF64(long rounds) { return FmaChains<double>(rounds); }

void ReadAll(const float* HWY_RESTRICT data, size_t count) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  V sum[8];
  for (V& s : sum) s = hn::Zero(d);
  size_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes) {
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; ++j) sum[j] = hn::Add(sum[j], hn::Load(d, data + i + j * lanes));
  }
  for (int j = 1; j < 8; ++j) sum[0] = hn::Add(sum[0], sum[j]);
  volatile float sink = hn::GetLane(hn::SumOfLanes(d, sum[0]));
  static_cast<void>(sink);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(FmaChainsF32);
HWY_EXPORT(FmaChainsF64);
HWY_EXPORT(ReadAll);

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_seconds_now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

FmaRun run_fma_chains(DType dtype, double seconds) {
  constexpr long kRounds = 200'000;
  FmaRun run;
  const double begin = seconds_now(), thread_begin = thread_seconds_now();
  while (run.seconds < seconds) {
    run.flop += dtype == DType::f64 ? HWY_DYNAMIC_DISPATCH(FmaChainsF64)(kRounds)
                                    : HWY_DYNAMIC_DISPATCH(FmaChainsF32)(kRounds);
    run.seconds = seconds_now() - begin;
  }
  run.thread_seconds = thread_seconds_now() - thread_begin;
  return run;
}

IntegerRun run_integer_chains(double seconds) {
  constexpr std::int64_t kRounds = 200'000;
  const IntegerKernels& unit = integer_kernels(integer_unit());
  IntegerRun run;
  const double begin = seconds_now();
  while (run.seconds < seconds) {
    run.products += unit.run_chains(kRounds);
    run.seconds = seconds_now() - begin;
  }
  return run;
}

void read_memory(const void* data, std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(ReadAll)(static_cast<const float*>(data), bytes / sizeof(float));
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
