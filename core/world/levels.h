// Which ranks share a machine, and who of them exchanges with the other machines.
#pragma once

#include <vector>

#include "weft/core/export.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Neighbouring ranks: `begin` to `end` - 1.
struct RankRun {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
  bool contains(int rank) const { return begin <= rank && rank < end; }
  friend bool operator==(const RankRun&, const RankRun&) = default;
};

/// Groups of ranks that are on one host. What all ranks exchange with all then goes from one host
/// to another once instead of once for every rank there, and is passed on within the host. A world
/// without groups has those of one rank: all exchange with all.
class Levels {
 public:
  /// Groups of neighbours on one host, as their transport names it, in a world of more than
  /// `most_direct` ranks; elsewhere groups of one.
  Levels(const Transport& transport, int most_direct);

  int groups() const { return static_cast<int>(groups_.size()); }
  const RankRun& group(int g) const { return groups_[static_cast<std::size_t>(g)]; }
  int group_of(int rank) const { return group_of_[static_cast<std::size_t>(rank)]; }
  /// The ranks of its group, itself among them.
  const RankRun& neighbours(int rank) const { return group(group_of(rank)); }
  /// The one of group g that `rank` exchanges with: itself in its own group. The ranks of a group
  /// spread over those of another.
  int stands_for(int rank, int g) const;

 private:
  std::vector<RankRun> groups_;
  std::vector<int> group_of_;  // by rank
};

}  // namespace weft
