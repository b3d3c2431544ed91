// The step of a program with shards, as ranks take it that own a part of its updates each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/distribute/split_shards.h"

namespace WEFT_API weft {

/// What a rank owns of a unit (owned_units.h): elements [begin, end) of each of its values, in
/// row-major order, or all of them (`whole`).
struct OwnedPiece {
  std::size_t unit = 0;
  bool whole = false;
  std::int64_t begin = 0, end = 0;
};

/// A step of which rank r of W takes its part. What ranks own follows from the program and from W;
/// the bits do not depend on it: ranges are those of elementwise functions, and begin where blocks
/// of sums do.
struct OwnedStep {
  /// A unit with its variables, as names.
  struct Unit {
    std::vector<std::size_t> sums;
    std::vector<std::string> state;       // only its owners have it
    std::vector<std::string> parameters;  // all ranks have them
    std::vector<std::string> reads;       // of a unit that is cut: variables that it reads besides
    bool cut = false;
    std::int64_t elements = 0;  // of a unit that is cut
  };
  /// A value that its owners compute in `exits`, and that all ranks need in `step`.
  struct Exit {
    std::size_t unit = 0;
    ValueType type;
  };
  std::vector<Unit> units = {};
  std::vector<Exit> exits = {};
  /// Numbers of the sums that owners alone need, in the order in which they lie in memory.
  std::vector<std::size_t> sums = {};
  /// By rank, in order of the units; no two of one unit.
  std::vector<std::vector<OwnedPiece>> pieces = {};

  /// This rank's part. In cut units sums, state and owned(name) for what they read besides are
  /// flat: the elements that are owned. `compute_exits` has outputs exit(i), and `step` takes all
  /// of them, gives updated(name) for the owned elements of parameters, and updates all else.
  Module compute_exits = {nullptr, Program("exits")};
  Module step = {nullptr, Program("step")};

  bool empty() const { return units.empty(); }
};

/// The part of rank `rank` of `ranks`. Empty where the step has nothing to own: one rank, or
/// updates that depend on one another.
OwnedStep own_step(const ShardedProgram& parts, int rank, int ranks);

}  // namespace weft
