#include "weft/graph/plan/offsets.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "weft/core/rounding.h"

namespace weft {
namespace {

constexpr std::size_t kMaxBlocksBySize = 8192;
// If the result is within 1/512 of the lower bound, no further heuristic is tried.
constexpr std::size_t kGoodEnough = 512;

// Places blocks in the order `before`, each at the lowest offset that is free during its lifetime.
template <class Before>
std::size_t place_in_order(std::vector<MemoryBlock>& blocks, Before before) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return before(blocks[a], blocks[b]); });
  struct Placed {
    std::size_t offset, end;
    int first, last;
  };
  std::vector<Placed> placed;  // sorted by offset
  placed.reserve(blocks.size());
  std::size_t total = 0;
  for (std::size_t i : order) {
    MemoryBlock& block = blocks[i];
    const std::size_t bytes = aligned_size(block.bytes);
    std::size_t offset = 0;
    for (const Placed& p : placed) {
      if (p.last < block.begin || p.first > block.end) continue;
      if (p.offset >= offset + bytes) break;
      offset = std::max(offset, p.end);
    }
    block.offset = offset;
    total = std::max(total, offset + bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [](std::size_t o, const Placed& p) { return o < p.offset; });
    placed.insert(at, {offset, offset + bytes, block.begin, block.end});
  }
  return total;
}

// Free ranges, indexed by offset (to merge neighbours) and by size (for the best fit).
class Holes {
 public:
  std::size_t allocate(std::size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      // Grows the arena, starting with a hole that touches its end.
      std::size_t offset = total_;
      if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == total_) {
        offset = holes_.rbegin()->first;
        erase(std::prev(holes_.end()));
      }
      total_ = offset + bytes;
      return offset;
    }
    const auto [size, offset] = *fit;
    erase(holes_.find(offset));
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }
  void release(std::size_t offset, std::size_t bytes) {
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = erase(next);
    }
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        erase(before);
      }
    }
    insert(offset, bytes);
  }
  std::size_t total() const { return total_; }

 private:
  using Map = std::map<std::size_t, std::size_t>;
  void insert(std::size_t offset, std::size_t bytes) {
    holes_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  Map::iterator erase(Map::iterator it) {
    by_size_.erase({it->second, it->first});
    return holes_.erase(it);
  }
  Map holes_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
  std::size_t total_ = 0;
};

std::size_t by_time(std::vector<MemoryBlock>& blocks) {
  std::vector<std::size_t> begins(blocks.size()), ends;
  std::iota(begins.begin(), begins.end(), std::size_t{0});
  ends = begins;
  std::stable_sort(begins.begin(), begins.end(), [&](std::size_t a, std::size_t b) {
    if (blocks[a].begin != blocks[b].begin) return blocks[a].begin < blocks[b].begin;
    return blocks[a].bytes > blocks[b].bytes;
  });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].end < blocks[b].end; });
  Holes holes;
  std::size_t ended = 0;
  for (std::size_t i : begins) {
    for (; ended < ends.size() && blocks[ends[ended]].end < blocks[i].begin; ++ended) {
      const MemoryBlock& old = blocks[ends[ended]];
      if (old.bytes > 0) holes.release(old.offset, aligned_size(old.bytes));
    }
    blocks[i].offset = blocks[i].bytes > 0 ? holes.allocate(aligned_size(blocks[i].bytes)) : 0;
  }
  return holes.total();
}

}  // namespace

std::size_t assign_offsets(std::vector<MemoryBlock>& blocks) {
  const std::size_t least = live_peak(blocks);
  std::size_t total = by_time(blocks);
  if (blocks.size() > kMaxBlocksBySize) return total;
  const auto attempt = [&](auto before) {
    if (total - least <= least / kGoodEnough) return;
    std::vector<MemoryBlock> other = blocks;
    const std::size_t needed = place_in_order(other, before);
    if (needed >= total) return;
    total = needed;
    blocks = std::move(other);
  };
  attempt([](const MemoryBlock& a, const MemoryBlock& b) { return a.bytes > b.bytes; });
  // Places long-lived blocks first, at low offsets (for example, forward results that the backward
  // pass reads).
  attempt(
      [](const MemoryBlock& a, const MemoryBlock& b) { return a.end - a.begin > b.end - b.begin; });
  attempt([](const MemoryBlock& a, const MemoryBlock& b) {
    const auto area = [](const MemoryBlock& m) {
      return static_cast<double>(m.bytes) * (m.end - m.begin + 1);
    };
    return area(a) > area(b);
  });
  return total;
}

std::size_t live_peak(const std::vector<MemoryBlock>& blocks) {
  std::vector<std::pair<int, std::int64_t>> events;
  for (const MemoryBlock& b : blocks) {
    const auto bytes = static_cast<std::int64_t>(aligned_size(b.bytes));
    events.emplace_back(b.begin, bytes);
    events.emplace_back(b.end + 1, -bytes);
  }
  std::sort(events.begin(), events.end());  // at equal times, frees (negative) come first
  std::int64_t live = 0, peak = 0;
  for (const auto& [time, bytes] : events) {
    live += bytes;
    peak = std::max(peak, live);
  }
  return static_cast<std::size_t>(peak);
}

}  // namespace weft
