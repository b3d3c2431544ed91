#include "weft/core/world/levels.h"

namespace weft {

Levels::Levels(int ranks) {
  for (int r = 0; r < ranks; ++r) {
    groups_.push_back({r, r + 1});
    group_of_.push_back(r);
  }
}

Levels::Levels(const Transport& transport, int most_direct) : Levels(transport.size()) {
  if (transport.size() <= most_direct || transport.size() > kMostRanks) return;
  groups_.clear();
  for (int r = 0; r < transport.size(); ++r) {
    const bool near = r > 0 && transport.host(r) == transport.host(r - 1);
    if (!near) groups_.push_back({r, r});
    ++groups_.back().end;
    group_of_[static_cast<std::size_t>(r)] = groups() - 1;
  }
}

int Levels::stands_for(int rank, int g) const {
  const RankRun& own = neighbours(rank);
  if (own == group(g)) return rank;
  return group(g).begin + (rank - own.begin) % group(g).size();
}

}  // namespace weft
