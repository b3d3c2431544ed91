// What of a training step one rank can do for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Variables with the sums over shards that they are updated from. Nothing but scalars (a norm over
/// all gradients, say) connects them with the rest of the step, so that one rank can update them
/// for all others, and be the only one that has `state`.
struct OwnedUnit {
  /// Elements of each of its values, where these are elementwise functions of one another (Adam's,
  /// SGD's): ranks may have a range of them each. 0 where one rank has all: what the unit computes
  /// reduces over its values (Adafactor's means), or they are few.
  std::int64_t range = 0;
  std::vector<std::size_t> sums = {};     // that nobody else reads, by number, ascending
  std::vector<Variable> state = {};       // of the optimizer, that nobody else reads
  std::vector<Variable> parameters = {};  // others that it updates: all ranks read them
};

/// Looks for the units of a step (ShardedProgram::step, whose whole sums of large values are
/// block_sums()).
class OwnedUnits {
 public:
  /// Scalars of a unit that others need, or a sum over its blocks.
  struct Exit {
    Value value;
    std::size_t unit;
  };
  /// `private_sum(i)`: the step alone reads sum i. `private_variable(v)`: and variable v.
  OwnedUnits(const Program& step, const std::function<bool(std::size_t)>& private_sum,
             const std::function<bool(const Variable&)>& private_variable);

  /// In order of their first sums. The sums of all have one dtype.
  const std::vector<OwnedUnit>& units() const { return units_; }
  /// In order of their nodes.
  const std::vector<Exit>& exits() const { return exits_; }

 private:
  std::vector<OwnedUnit> units_;
  std::vector<Exit> exits_;
};

}  // namespace weft
