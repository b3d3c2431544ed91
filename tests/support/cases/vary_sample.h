// Variations of an op's samples with other sizes, attributes, dtypes, optional inputs and values,
// drawn from a seed. With them, tests cover every record without a list of ops.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// Types of element values in a variation.
enum class Values {
  tame,  // in the range of the sample's elements
  /// some elements are NaN, infinite, denormal or -0; some integers are at the ends of their range
  special,
  wild,  // as `special`, plus numbers that overflow in sums and products
  /// in the range of the sample's elements and well separated, for finite differences
  spread,
};

struct VaryOptions {
  Values values = Values::wild;
  /// Maximum number of elements of all operands together.
  std::int64_t elements = 1 << 14;
  /// Maximum cost in FLOPs according to the record.
  double flops = 2e6;
  /// Size of some axes in tensors that also have an axis of size 0, and therefore need no memory.
  std::int64_t beside_zero = 1 << 17;
  /// One in `illegal_one_in` variations may be invalid (rejected by the shape rule). 0 means
  /// never.
  int illegal_one_in = 12;
  /// One in `extreme_one_in` changed attributes is set to an extreme value. 0 means
  /// never.
  int extreme_one_in = 8;
};

/// A seeded random generator with the same sequence on all platforms.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  /// Returns a random integer in [0, n).
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool one_in(int n) { return n > 0 && below(n) == 0; }
  /// Returns a random number in [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <class Container>
  const auto& pick(const Container& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(from))))];
  }

 private:
  std::mt19937_64 engine_;
};

/// Returns a variation of one of the op's samples. Most variations are valid; an invalid one must
/// cause the same error however it is run.
OpSample vary_sample(const OpRecord& op, const std::vector<OpSample>& samples, Draw& draw,
                     const VaryOptions& options = {});

/// Returns true if the shape rule accepts the sample.
bool is_legal(const OpRecord& op, const OpSample& sample);
/// Returns the output types of a valid sample.
std::vector<ValueType> output_types(const OpRecord& op, const OpSample& sample);

/// Returns a complete description of the case, such as "f32[2, 3], absent, i64[4] {4, -1, ...};
/// axis=1".
std::string describe(const OpSample& sample);

/// Draws a size that is interesting for kernels: 0, 1, primes, or a size near a vector length.
std::int64_t draw_size(Draw& draw);

}  // namespace weft::testing
