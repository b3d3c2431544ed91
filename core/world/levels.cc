#include "weft/core/world/levels.h"

namespace weft {

Levels::Levels(const Transport& transport, int max_direct) {
  const bool direct = transport.size() <= max_direct;
  for (int r = 0; r < transport.size(); ++r) {
    const bool near = !direct && r > 0 && transport.host(r) == transport.host(r - 1);
    if (!near) groups_.push_back({r, r});
    ++groups_.back().end;
    group_of_.push_back(groups() - 1);
  }
}

int Levels::peer_in_group(int rank, int g) const {
  const RankRun& own = neighbours(rank);
  if (own == group(g)) return rank;
  return group(g).begin + (rank - own.begin) % group(g).size();
}

}  // namespace weft
