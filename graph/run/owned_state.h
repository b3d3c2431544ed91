// The state of optimizers that ranks share out among them.
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

/// Which elements of which variables this rank has, and where all others are. A variable is either
/// whole, in the store that Sessions share, or cut, each rank's piece in a store of its own.
class OwnedState {
 public:
  struct Range {
    std::int64_t begin = 0, end = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  struct Cut {
    VariableKind kind = VariableKind::optimizer;
    ValueType type;             // of the whole
    bool flat = false;          // pieces are ranges
    std::vector<Range> ranges;  // of elements, by rank; many may be empty
    friend bool operator==(const Cut&, const Cut&) = default;
  };
  using Cuts = std::map<std::string, Cut, std::less<>>;

  /// `pieces` gets this rank's: a range is flat, what one rank has alone keeps its sizes.
  explicit OwnedState(VariableStore& pieces) : pieces_(pieces) {}

  /// Whether a variable is cut.
  bool contains(std::string_view name) const { return cuts_.find(name) != cuts_.end(); }
  /// All that is cut, by name: the same on all ranks.
  const Cuts& cuts() const { return cuts_; }
  /// What this rank has of a variable that is cut; undefined where that is nothing.
  Tensor piece(std::string_view name) const;
  /// Whether anything is cut in another way than the state of `step`, which may read `variables`.
  bool clashes(const OwnedStep& step, const std::vector<Variable>& variables) const;

  /// Cuts the state of `step`: takes it out of `shared`, or starts what is not there.
  void take(const OwnedStep& step, const World& world, const Graph& graph, VariableStore& shared,
            const StoreAccess::Start& start);
  /// Puts all that is cut back into `shared`, whole, on every rank. Collective; throws WorldError,
  /// and then all is as it was.
  void gather(const World& world, VariableStore& shared);
  /// Gives rank 0 copies of the whole in `shared`, until the next take(); all stays cut.
  /// Collective.
  void copy_to_first(const World& world, VariableStore& shared);

 private:
  static Cuts cuts_of(const OwnedStep& step, const Graph& graph);
  /// The whole of all that is cut, on rank `only`, or on all where that is -1.
  std::vector<VariableStore::NewValue> whole(const World& world, int only) const;
  void take(const std::string& name, const Cut& cut, int rank, const Graph& graph,
            VariableStore& shared, const StoreAccess::Start& start);

  VariableStore& pieces_;
  Cuts cuts_;
  std::vector<std::string> copies_;  // in the shared store
};

/// For savers: which part of the optimizer's state each rank of a Session has, until its next run,
/// and this rank's. All other variables start that have no value, as by Session::gather_state().
/// Asks no other rank.
const OwnedState& owned_state(Session& session);

/// The exits of all units, from what this rank's units gave (OwnedStep::compute_exits). Collective.
NamedTensors gather_exits(const OwnedStep& step, const World& world, const Results& own);

}  // namespace weft
