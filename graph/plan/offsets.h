// Arena offsets for memory blocks with lifetimes.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

/// A block of memory that is live from wave `begin` to wave `end`, inclusive.
struct MemoryBlock {
  std::size_t bytes = 0;
  int begin = 0;
  int end = 0;
  std::size_t offset = 0;  // set by assign_offsets
};

/// Sets the offsets to multiples of 64 bytes such that blocks that are live at the same time do not
/// overlap. Returns the total number of bytes needed. Uses the best result of several heuristics:
/// best fit in order of time; and the lowest free offset with blocks sorted by size (Pisarchyk and
/// Lee, "Efficient memory management for deep neural net inference", 2020), by lifetime, or by
/// bytes times waves, in decreasing order. The last three take quadratic time and are skipped for
/// many blocks.
std::size_t assign_offsets(std::vector<MemoryBlock>& blocks);

/// Returns the largest number of bytes (each block rounded up to a multiple of 64) that are live at
/// the same time, which is a lower bound for any assignment.
std::size_t live_peak(const std::vector<MemoryBlock>& blocks);

}  // namespace weft
