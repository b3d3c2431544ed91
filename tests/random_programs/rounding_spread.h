// Measures how much the results of a program may differ between two correct ways of computing it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/tests/random_programs/trace.h"

namespace weft::testing {

/// Passes that change the order of sums or round the operands of products change the bits of
/// results. This class measures the allowed difference. It runs the program several times with its
/// scalar models and perturbs every value upwards or downwards, at random, by a multiple of the
/// tolerance of its model and of one rounding error.
///
/// A sum in a different order equals the exact sum of terms that are perturbed by their rounding
/// errors, so its result is within the range of such perturbations. The perturbations here are
/// several times larger. They come in pairs with opposite signs, so that one run of each pair
/// crosses any discontinuity of the program that is within reach.
class RoundingSpread {
 public:
  /// Perturbs the runs in `base`, a trace of `program` (without calls) that includes the initial
  /// variables and the bindings.
  RoundingSpread(const Program& program, const Case& c, const Trace& base);

  /// Returns true if an output, or a variable after run `step`, may have the value `got` if its
  /// value in the program as written is `expected`.
  bool allows(std::size_t step, const std::string& name, const Tensor& got,
              const Tensor& expected) const;

 private:
  struct Tolerance {
    /// For each element, true if any value is allowed, for example close to a pole.
    std::vector<char> any;
    /// The allowed difference for all other elements.
    double distance = 0;
    /// For each element, the change of the result in the first run of a pair.
    std::vector<double> moves = {};
  };
  bool run_moved(const Program& program, const Case& c, const Trace& base, std::uint64_t seed,
                 int draw);
  void widen(int draw, std::size_t step, const std::string& name, const Tensor& moved,
             const Tensor& expected);

  /// True if the perturbed data caused an error, so that any result is accepted.
  bool unknown_ = false;
  std::map<std::pair<std::size_t, std::string>, Tolerance> tolerances_;
};

}  // namespace weft::testing
