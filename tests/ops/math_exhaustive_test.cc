// Measures the largest error of the elementary functions over float32. By default, every 1009th
// float is tested. WEFT_EXHAUSTIVE=1 tests all 2^32 floats (about one core minute per function) and
// prints the numbers in ops/kernels/ELEMENTARY.md.
#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "weft/ops/op.h"

namespace weft::testing {
namespace {

constexpr std::uint64_t kAllBits = std::uint64_t{1} << 32;
constexpr std::uint64_t kStride = 1009;  // a prime, to cover all exponents and low bits
constexpr std::int64_t kRow = 1 << 14;

struct Worst {
  double ulps = 0;
  float at = 0;
};

/// Returns the distance of `got` from the exact value `want`, in units in the last place of the
/// float nearest to `want`.
double error(float got, double want) {
  const auto nearest = static_cast<float>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : HUGE_VAL;
  const int exponent = std::max(std::ilogb(nearest == 0 ? 0x1p-149f : nearest), -126);
  return std::fabs(static_cast<double>(got) - want) / std::ldexp(1.0, exponent - 23);
}

/// Tests every `stride`-th of the bit patterns from `begin` to `end`.
Worst walk(const OpRecord& op, double (*oracle)(double), std::uint64_t begin, std::uint64_t end,
           std::uint64_t stride) {
  const Attributes attributes = op.complete({});
  const RowKernel kernel = op.row({{DType::f32}, DType::f32, 0, attributes});
  std::vector<float> x(kRow), y(kRow);
  Worst worst;
  while (begin < end) {
    std::int64_t n = 0;
    for (; n < kRow && begin < end; begin += stride) {
      x[static_cast<std::size_t>(n++)] = std::bit_cast<float>(static_cast<std::uint32_t>(begin));
    }
    const void* in = x.data();
    kernel(&in, y.data(), n, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const double e = error(y[i], oracle(static_cast<double>(x[i])));
      if (e > worst.ulps) worst = {e, x[i]};
    }
  }
  return worst;
}

void check(const char* name, double (*oracle)(double), double bound) {
  const OpRecord& op = builtin_ops()->at(name);
  const char* wish = std::getenv("WEFT_EXHAUSTIVE");
  const bool all = wish != nullptr && std::string_view(wish) == "1";
  constexpr std::uint64_t kParts = 256;
  std::vector<Worst> worst(kParts);
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    for (std::uint64_t part; (part = next++) < kParts;) {
      const std::uint64_t begin = kAllBits / kParts * part;
      worst[part] = walk(op, oracle, begin, begin + kAllBits / kParts, all ? 1 : kStride);
    }
  };
  std::vector<std::thread> threads;
  const unsigned count = all ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  for (unsigned i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  Worst most;
  for (const Worst& w : worst) {
    if (w.ulps > most.ulps) most = w;
  }
  BOOST_TEST_MESSAGE(fmt::format("{}: {:.3f} ulp at {:a}", name, most.ulps, most.at));
  if (all) fmt::print("{}: {:.3f} ulp at {:a}\n", name, most.ulps, most.at);
  BOOST_TEST(most.ulps <= bound, fmt::format("{} is off by {:.3f} units in the last place at {:a}",
                                             name, most.ulps, most.at));
}

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(math_exhaustive)

BOOST_AUTO_TEST_CASE(exp_error_is_within_its_bound) { check("exp", std::exp, 2); }
BOOST_AUTO_TEST_CASE(log_error_is_within_its_bound) { check("log", std::log, 2); }
BOOST_AUTO_TEST_CASE(tanh_error_is_within_its_bound) { check("tanh", std::tanh, 2); }
BOOST_AUTO_TEST_CASE(erf_error_is_within_its_bound) { check("erf", std::erf, 2); }
BOOST_AUTO_TEST_CASE(sigmoid_error_is_within_its_bound) { check("sigmoid", sigmoid, 2); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
