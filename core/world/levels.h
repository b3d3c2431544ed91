// Groups of ranks that share a host, for two-level communication.
#pragma once

#include <vector>

#include "weft/core/export.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Consecutive ranks: `begin` to `end` - 1.
struct RankRun {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
  bool contains(int rank) const { return begin <= rank && rank < end; }
  friend bool operator==(const RankRun&, const RankRun&) = default;
};

/// Groups of ranks on the same host. In collective operations, data is sent to another host only
/// once, rather than once for every rank on that host, and is then forwarded within the host. In a
/// world without grouping, every group has one rank, and all ranks exchange data directly.
class Levels {
 public:
  /// In a world with more than `max_direct` ranks, groups consecutive ranks with the same
  /// Transport::host(). In smaller worlds, every group has one rank.
  Levels(const Transport& transport, int max_direct);

  int groups() const { return static_cast<int>(groups_.size()); }
  const RankRun& group(int g) const { return groups_[static_cast<std::size_t>(g)]; }
  int group_of(int rank) const { return group_of_[static_cast<std::size_t>(rank)]; }
  /// Returns the group of `rank`, including `rank` itself.
  const RankRun& neighbours(int rank) const { return group(group_of(rank)); }
  /// Returns the peer of `rank` in group g; in its own group, a rank is its own peer. The peers of
  /// all ranks in one group are distributed evenly over the ranks of another group.
  int peer_in_group(int rank, int g) const;

 private:
  std::vector<RankRun> groups_;
  std::vector<int> group_of_;  // by rank
};

}  // namespace weft
