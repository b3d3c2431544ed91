#include "weft/models/generate/block_pool.h"

#include "weft/core/error.h"

namespace weft {

BlockPool::BlockPool(std::int64_t blocks) : states_(static_cast<std::size_t>(blocks)) {
  for (std::int64_t block = blocks; block-- > 0;) free_.push_back(block);
}

std::int64_t BlockPool::take() {
  if (available() == 0) throw StateError("no block of the caches is free: release one first");
  if (free_.empty()) {
    const std::int64_t oldest = evictable_.begin()->second;
    evictable_.erase(evictable_.begin());
    forget(oldest);
    free_.push_back(oldest);
  }
  const std::int64_t block = free_.back();
  free_.pop_back();
  state(block).uses = 1;
  return block;
}

void BlockPool::share(std::int64_t block) {
  State& shared = state(block);
  if (shared.uses++ == 0) evictable_.erase(shared.released);
}

void BlockPool::release(std::int64_t block) {
  State& released = state(block);
  if (--released.uses > 0) return;
  if (!released.indexed) return free_.push_back(block);
  released.released = time_++;
  evictable_.emplace(released.released, block);
}

std::optional<BlockPool::Entry> BlockPool::find(Place before, const TokenIds& ids) const {
  const auto it = index_.find({before, ids});
  return it == index_.end() ? std::nullopt : std::optional(it->second);
}

BlockPool::Entry BlockPool::insert(Place before, TokenIds ids, std::int64_t block) {
  const auto [it, added] = index_.try_emplace({before, std::move(ids)}, Entry{block, places_ + 1});
  if (!added) return it->second;
  ++places_;
  state(block).indexed = it;
  return it->second;
}

void BlockPool::forget(std::int64_t block) {
  std::optional<Index::iterator>& indexed = state(block).indexed;
  if (indexed) index_.erase(*indexed);
  indexed.reset();
}

}  // namespace weft
