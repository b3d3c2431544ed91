// Units of a training step that one rank can update for all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Variables and the sums over shards that they are updated from. Only scalars (a norm over all
/// gradients, for example) connect them with the rest of the step, so that one rank can update them
/// for all others and be the only one that stores `state`.
struct OwnedUnit {
  /// Number of elements of each of its values if these are elementwise functions of one another
  /// (Adam, SGD): each rank may own a range of them. 0 if one rank owns all elements, because the
  /// unit reduces over its values (the means of Adafactor) or has few elements.
  std::int64_t range = 0;
  std::vector<std::size_t> sums = {};     // numbers of sums that nothing else reads, ascending
  std::vector<Variable> state = {};       // optimizer state that nothing else reads
  std::vector<Variable> parameters = {};  // other variables that it updates; all ranks read them
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
  /// `private_sum(i)`: only the step reads sum i. `private_variable(v)`: only the step reads
  /// variable v.
  OwnedUnits(const Program& step, const std::function<bool(std::size_t)>& private_sum,
             const std::function<bool(const Variable&)>& private_variable);

  /// In order of their first sums. All these sums have the same dtype.
  const std::vector<OwnedUnit>& units() const { return units_; }
  /// In order of their nodes.
  const std::vector<UnitScalar>& unit_scalars() const { return unit_scalars_; }

 private:
  std::vector<OwnedUnit> units_;
  std::vector<UnitScalar> unit_scalars_;
};

}  // namespace weft
