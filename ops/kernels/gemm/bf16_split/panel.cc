#include "weft/ops/kernels/gemm/bf16_split/panel.h"

#include <algorithm>

namespace weft::kernels {
namespace {

constexpr int kBias = 127;
constexpr int kSmallestExponent = -100;
constexpr int kLargestExponent = 126;

// Returns the exponent of a float, given the bits of its absolute value. 0 is treated as tiny and
// ~0 as huge.
int exponent(std::uint32_t bits) { return static_cast<int>(bits >> 23) - kBias; }

int ceil_log2(std::int64_t n) {
  int log = 0;
  while ((std::int64_t{1} << log) < n) ++log;
  return log;
}

}  // namespace

bool representable_by_terms(std::uint32_t largest_a, std::uint32_t smallest_a,
                            std::uint32_t largest_b, std::uint32_t smallest_b, std::int64_t depth) {
  const int high_a = exponent(largest_a), high_b = exponent(largest_b);
  const int low_a = exponent(smallest_a), low_b = exponent(smallest_b);
  if (std::max(high_a, high_b) > kLargestExponent) return false;
  if (std::min(low_a, low_b) < kSmallestExponent) return false;
  // |a b| < 2^(high_a + 1) 2^(high_b + 1), and `depth` such products are summed.
  if (high_a + high_b + 2 + ceil_log2(depth) > kLargestExponent) return false;
  return low_a + low_b >= kSmallestExponent;
}

}  // namespace weft::kernels
