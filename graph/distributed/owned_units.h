// Units of a training step that one rank can update for all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// A group of variables and the sums over shards that they are updated from. Only scalars (for
/// example, a norm over all gradients) connect a unit with the rest of the step. One rank can
/// therefore update the unit for all ranks and be the only rank that stores `state`.
struct OwnedUnit {
  /// Number of elements of each value of the unit if the values are elementwise functions of one
  /// another (Adam, SGD), so that each rank may own a range of elements. 0 if one rank owns all
  /// elements, because the unit reduces over its values (the means of Adafactor) or has few
  /// elements.
  std::int64_t range = 0;
  std::vector<std::size_t> sums = {};  // indices of sums that nothing else reads, ascending
  std::vector<Variable> state = {};    // optimizer state that nothing else reads
  std::vector<Variable> parameters =
      {};  // other variables that the unit updates, read by all ranks
};

/// Finds the units of a step (ShardedProgram::step, in which sums over all elements of large values
/// are block_sums()).
class OwnedUnits {
 public:
  /// A cross-unit scalar: a scalar of a unit that other units need, or the block_sums() of a value.
  struct UnitScalar {
    Value value;
    std::size_t unit;
  };
  /// `private_sum(i)` returns true if only the step reads sum i, and `private_variable(v)` returns
  /// true if only the step reads variable v.
  OwnedUnits(const Program& step, const std::function<bool(std::size_t)>& private_sum,
             const std::function<bool(const Variable&)>& private_variable);

  /// The units, in the order of their first sums. The sums of all units have the same dtype.
  const std::vector<OwnedUnit>& units() const { return units_; }
  /// The cross-unit scalars, in node order.
  const std::vector<UnitScalar>& unit_scalars() const { return unit_scalars_; }

 private:
  std::vector<OwnedUnit> units_;
  std::vector<UnitScalar> unit_scalars_;
};

}  // namespace weft
