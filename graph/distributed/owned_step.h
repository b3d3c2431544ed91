// The step of a sharded program, split across ranks: each rank applies the updates that it
// owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/distributed/split_shards.h"

namespace WEFT_API weft {

/// A rank's piece of a unit (owned_units.h): elements [begin, end) of each value of the unit, in
/// row-major order, or all elements (`whole`).
struct OwnedPiece {
  std::size_t unit = 0;
  bool whole = false;
  std::int64_t begin = 0, end = 0;
};

/// The part of a step that rank r of W runs. Ownership depends on the program and W only. Results
/// are bit-identical for any W, because only elementwise functions are split into ranges, and
/// ranges begin at block boundaries of sums.
struct OwnedStep {
  /// A unit and the names of its variables.
  struct Unit {
    std::vector<std::size_t> sums;
    std::vector<std::string> state;       // stored on its owners only
    std::vector<std::string> parameters;  // stored on all ranks
    std::vector<std::string> reads;       // if `cut`: other variables that the unit reads
    bool cut = false;                     // partitioned: each rank owns a range of its elements
    std::int64_t elements = 0;            // if `cut`: elements of each value
  };
  /// A cross-unit scalar: its owners compute it in `compute_unit_scalars`, and all ranks need it in
  /// `step`.
  struct UnitScalar {
    std::size_t unit = 0;
    ValueType type;
  };
  std::vector<Unit> units = {};
  std::vector<UnitScalar> unit_scalars = {};
  /// Indices of the sums that only owners need, in memory order.
  std::vector<std::size_t> sums = {};
  /// Pieces by rank, in unit order; at most one per unit and rank.
  std::vector<std::vector<OwnedPiece>> pieces = {};

  /// The programs of this rank. For partitioned units, the inputs for sums, state and owned(name)
  /// (the other variables that the unit reads) are flat tensors of the owned elements only.
  /// `compute_unit_scalars` has the outputs unit_scalar(i). `step` has the unit scalars of all
  /// ranks as inputs, returns updated(name) for the owned elements of parameters, and updates
  /// everything else.
  Module compute_unit_scalars = {nullptr, Program("exits")};
  Module step = {nullptr, Program("step")};

  bool empty() const { return units.empty(); }
};

/// Returns the part of the step that rank `rank` of `ranks` runs. The result is empty if nothing
/// can be distributed, that is, if there is a single rank or all updates depend on one another.
OwnedStep own_step(const ShardedProgram& parts, int rank, int ranks);

}  // namespace weft
