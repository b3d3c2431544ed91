// How far apart two right ways of computing a program may be.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/tests/programs/trace.h"

namespace weft::testing {

/// Passes that add in another order, or round operands of products, give other bits than the
/// program as written. By how much they may differ is measured: the program is run some times by
/// its scalar models, every value moved up or down, at random, by a few times what its model allows
/// and what one rounding is. A sum in another order is the exact sum of terms that are moved by
/// their roundings, so that the other way's result lies within such moves; the moves here are
/// several times larger, and come in pairs of opposite sign, so that a step of the program that
/// lies within reach is taken by one of them.
class RoundingSpread {
 public:
  /// Of the runs of `base`, a trace of `program` (without calls) that knows its start and its
  /// bindings.
  RoundingSpread(const Program& program, const Case& c, const Trace& base);

  /// Whether an output or a variable after run `step`, that was `expected` as written, may be
  /// `got`.
  bool allows(std::size_t step, const std::string& name, const Tensor& got,
              const Tensor& expected) const;

 private:
  struct Room {
    std::vector<char> any;           // by element: it may be anything (close to a pole, too)
    double distance = 0;             // for the others
    std::vector<double> moves = {};  // by element: of the first draw of a pair
  };
  bool run_moved(const Program& program, const Case& c, const Trace& base, std::uint64_t seed,
                 int draw);
  void widen(int draw, std::size_t step, const std::string& name, const Tensor& moved,
             const Tensor& expected);

  bool unknown_ = false;  // the moved data were refused: nothing can be said
  std::map<std::pair<std::size_t, std::string>, Room> rooms_;
};

}  // namespace weft::testing
