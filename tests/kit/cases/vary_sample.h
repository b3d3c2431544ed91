// Variations of an op's samples: other sizes, attributes, dtypes, optional inputs and values, drawn
// from a seed, for tests that go over every record without a list of ops.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// What the elements of a variation are.
enum class Values {
  tame,     // in the range of the sample's own
  special,  // some NaN, infinite, denormal or -0; some integers from the ends of their range
  wild,     // also numbers that overflow in sums and products
  spread,   // in the range of the sample's own, none near another: for difference quotients
};

struct VaryOptions {
  Values values = Values::wild;
  /// Largest number of elements of all operands together.
  std::int64_t elements = 1 << 14;
  /// Most FLOPs that the record may say it takes.
  double flops = 2e6;
  /// The size of some axes beside one of size 0.
  std::int64_t beside_zero = 1 << 17;
  /// One of so many variations is allowed to be illegal (the shape rule refuses it); 0: none.
  int illegal_one_in = 12;
  /// One of so many attributes that change gets an extreme value; 0: none.
  int extreme_one_in = 8;
};

/// Draws from one seed: the same sequence everywhere.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  /// In [0, n).
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool one_in(int n) { return n > 0 && below(n) == 0; }
  /// In [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <class Container>
  const auto& pick(const Container& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(from))))];
  }

 private:
  std::mt19937_64 engine_;
};

/// A variation of one of the op's samples. Most are legal; what is not gives its error everywhere.
OpSample vary_sample(const OpRecord& op, const std::vector<OpSample>& samples, Draw& draw,
                     const VaryOptions& options = {});

/// True if the shape rule takes the sample.
bool is_legal(const OpRecord& op, const OpSample& sample);
/// Output types of a legal sample.
std::vector<ValueType> output_types(const OpRecord& op, const OpSample& sample);

/// "f32[2, 3], absent, i64[4] {4, -1, ...}; axis=1": everything that makes the case.
std::string describe(const OpSample& sample);

/// A size of the kind at which kernels change their ways: 0, 1, around vector lengths, primes.
std::int64_t draw_size(Draw& draw);

}  // namespace weft::testing
