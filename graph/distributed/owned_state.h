// Optimizer state partitioned across ranks (ZeRO).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/engine/results.h"
#include "weft/graph/engine/variable_store.h"

namespace WEFT_API weft {

class Graph;

/// Records which elements of which variables each rank holds. A variable is either whole and in the
/// shared store, or partitioned. The rank's pieces of partitioned variables are in a separate
/// store.
class OwnedState {
 public:
  struct Range {
    std::int64_t begin = 0, end = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  struct Partition {
    VariableKind kind = VariableKind::optimizer;
    ValueType type;             // type of the whole variable
    bool flat = false;          // pieces are flat ranges of elements
    std::vector<Range> ranges;  // element range of each rank; may be empty
    friend bool operator==(const Partition&, const Partition&) = default;
  };
  using Partitions = std::map<std::string, Partition, std::less<>>;

  /// `pieces` is the store for this rank's pieces. A piece that is a range of elements is flat. If
  /// one rank owns the whole variable, the piece has the variable's sizes.
  explicit OwnedState(VariableStore& pieces) : pieces_(pieces) {}

  /// Returns true if the variable is partitioned.
  bool contains(std::string_view name) const { return partitions_.find(name) != partitions_.end(); }
  /// Returns all partitioned variables by name. The result is the same on all ranks.
  const Partitions& partitions() const { return partitions_; }
  /// Returns this rank's piece of a partitioned variable, or an undefined Tensor if the piece is
  /// empty.
  Tensor piece(std::string_view name) const;
  /// Returns true if the current partitioning conflicts with `step`, that is, if one of `variables`
  /// (the variables of the step's program) is not partitioned as `step` requires.
  bool conflicts_with(const OwnedStep& step, const std::vector<Variable>& variables) const;

  /// Partitions the optimizer state of `step`: moves it out of `shared` and initialises missing
  /// variables.
  void take(const OwnedStep& step, const World& world, const Graph& graph, VariableStore& shared,
            const StoreAccess::Start& start);
  /// Reassembles all partitioned variables and moves them back into `shared` on every rank.
  /// Collective. If it throws a WorldError, nothing has changed.
  void gather(const World& world, VariableStore& shared);
  /// Copies the whole variables into `shared` on rank 0. The copies exist until the next take(),
  /// and the variables stay partitioned. Collective.
  void copy_to_first(const World& world, VariableStore& shared);

 private:
  static Partitions partitions_of(const OwnedStep& step, const Graph& graph);
  /// Assembles all partitioned variables on rank `only`, or on all ranks if `only` is -1.
  std::vector<VariableStore::NewValue> whole(const World& world, int only) const;
  void take(const std::string& name, const Partition& cut, int rank, const Graph& graph,
            VariableStore& shared, const StoreAccess::Start& start);

  VariableStore& pieces_;
  Partitions partitions_;
  std::vector<std::string> copies_;  // names of copies in the shared store
};

/// Returns the first variable with a non-finite element in the pieces of rank `rank`, if any. The
/// position in the message is that in the whole variable.
std::optional<NonFiniteVariable> first_nonfinite(const OwnedState& owned, int rank);

/// Returns the cross-unit scalars of all units. `own` contains the results of
/// OwnedStep::compute_unit_scalars for this rank's units. Collective.
NamedTensors gather_unit_scalars(const OwnedStep& step, const World& world, const Results& own);

}  // namespace weft
