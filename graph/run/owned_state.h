// Optimizer state partitioned across ranks (ZeRO).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/graph/distribute/owned_step.h"
#include "weft/graph/run/results.h"
#include "weft/graph/run/variable_store.h"

namespace WEFT_API weft {

class Graph;
class Session;

/// Records which elements of which variables this rank holds, and where all others are. A variable
/// is either whole, in the store that Sessions share, or partitioned, with each rank's piece in a
/// separate store.
class OwnedState {
 public:
  struct Range {
    std::int64_t begin = 0, end = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  struct Partition {
    VariableKind kind = VariableKind::optimizer;
    ValueType type;             // of the whole variable
    bool flat = false;          // pieces are flat ranges of elements
    std::vector<Range> ranges;  // element range of each rank; may be empty
    friend bool operator==(const Partition&, const Partition&) = default;
  };
  using Partitions = std::map<std::string, Partition, std::less<>>;

  /// `pieces` is the store for this rank's pieces. A piece that is a range is flat; a variable that
  /// one rank owns alone keeps its sizes.
  explicit OwnedState(VariableStore& pieces) : pieces_(pieces) {}

  /// Returns true if the variable is partitioned.
  bool contains(std::string_view name) const { return partitions_.find(name) != partitions_.end(); }
  /// All partitioned variables, by name; the same on all ranks.
  const Partitions& partitions() const { return partitions_; }
  /// Returns this rank's piece of a partitioned variable; undefined if the piece is empty.
  Tensor piece(std::string_view name) const;
  /// Returns true if the current partitioning conflicts with `step`: one of `variables`, which the
  /// program of `step` uses, is partitioned differently from what `step` requires.
  bool conflicts_with(const OwnedStep& step, const std::vector<Variable>& variables) const;

  /// Partitions the optimizer state of `step`: moves it from `shared`, initialising missing
  /// variables.
  void take(const OwnedStep& step, const World& world, const Graph& graph, VariableStore& shared,
            const StoreAccess::Start& start);
  /// Moves all partitioned variables back into `shared`, whole, on every rank. Collective. Throws
  /// WorldError, in which case nothing has changed.
  void gather(const World& world, VariableStore& shared);
  /// Copies the whole variables into `shared` on rank 0, until the next take(). They stay
  /// partitioned. Collective.
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

/// For savers: returns which part of the optimizer state each rank of a Session holds, and this
/// rank's pieces, valid until the next run. Initialises all other variables that have no value,
/// like Session::gather_state(). Does not communicate.
const OwnedState& owned_state(Session& session);

/// Returns the cross-unit scalars of all units. `own` are the results of
/// OwnedStep::compute_unit_scalars for this rank's units. Collective.
NamedTensors gather_unit_scalars(const OwnedStep& step, const World& world, const Results& own);

}  // namespace weft
