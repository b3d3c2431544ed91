// Measures how much the results of two correct ways of computing a program may differ.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/tests/programs/trace.h"

namespace weft::testing {

/// Passes that change the order of sums or round operands of products change the bits of results.
/// This class measures the allowed difference: it runs the program several times with its scalar
/// models and moves every value up or down, at random, by a multiple of the tolerance of its model
/// and of one rounding error. A sum in another order equals the exact sum of terms that are moved
/// by their rounding errors, so the result of the other way is within the range of such moves.
/// The moves here are several times larger. They come in pairs of opposite sign, so that one of
/// them crosses any discontinuity of the program that is within reach.
class RoundingSpread {
 public:
  /// Perturbs the runs of `base`, a trace of `program` (without calls) that includes the initial
  /// variables and the bindings.
  RoundingSpread(const Program& program, const Case& c, const Trace& base);

  /// Returns true if an output or variable after run `step` may be `got`, given that it is
  /// `expected` in the program as written.
  bool allows(std::size_t step, const std::string& name, const Tensor& got,
              const Tensor& expected) const;

 private:
  struct Tolerance {
    /// By element: true if any value is allowed, for example close to a pole.
    std::vector<char> any;
    /// The allowed difference of all other elements.
    double distance = 0;
    /// By element: the moves of the first run of a pair.
    std::vector<double> moves = {};
  };
  bool run_moved(const Program& program, const Case& c, const Trace& base, std::uint64_t seed,
                 int draw);
  void widen(int draw, std::size_t step, const std::string& name, const Tensor& moved,
             const Tensor& expected);

  /// True if the moved data caused an error, so that any result is accepted.
  bool unknown_ = false;
  std::map<std::pair<std::size_t, std::string>, Tolerance> tolerances_;
};

}  // namespace weft::testing
